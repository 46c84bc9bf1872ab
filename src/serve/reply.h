// The JSON objects of answers: whole ones and the chunks of a stream, for chat and for completions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "search/loaded_model.h"
#include "serve/generation_request.h"
#include "serve/logprobs.h"

namespace counterbeam::serve {

// One choice of an answer. In a stream: what is new of it.
struct Choice {
  int index = 0;
  std::size_t prompt = 0;  // which of the request's prompts it answers
  std::string reasoning{}, content{};
  std::vector<ShownToken> tokens{};
  std::string finish{};            // "stop" or "length"; in a stream empty until the end
  TextOffsets* offsets = nullptr;  // in a stream: of the tokens that were sent already
};

struct Usage {
  std::int64_t prompt_tokens = 0, completion_tokens = 0, cached_tokens = 0;
};

// What is known of a prompt beside its answers.
struct PromptReply {
  std::vector<TokenId> ids;
  std::string echo{};                // text before every answer to it
  std::vector<ShownToken> scores{};  // where they were asked for
};

struct ReplyHead {
  std::string id, model, fingerprint;
  std::int64_t created = 0;
};

class ReplyFormat {
 public:
  ReplyFormat(const LoadedModel& model, const GenerationRequest& how, ReplyHead head)
      : model_(model), how_(how), head_(std::move(head)) {}
  virtual ~ReplyFormat() = default;

  virtual Json whole(const std::vector<Choice>& choices, const std::vector<PromptReply>& prompts,
                     const Usage& usage) const = 0;
  virtual Json first_chunk(int index, const PromptReply& prompt) const = 0;  // null: there is none
  virtual Json chunk(const Choice& fresh) const = 0;
  Json usage_chunk(const Usage& usage) const;
  // Where the tokens of an answer to the prompt begin.
  TextOffsets answer_offsets(const PromptReply& prompt) const;
  const ReplyHead& head() const { return head_; }

 protected:
  Json object(const char* kind) const;
  Json chunk_of(const char* kind, Json choice) const;
  const Tokenizer& tokenizer() const { return model_.tokenizer(); }
  int top() const { return how_.top_logprobs.value_or(0); }

  const LoadedModel& model_;
  const GenerationRequest& how_;
  ReplyHead head_;
};

// REQUIRES that model and request outlive the format.
std::unique_ptr<ReplyFormat> chat_format(const LoadedModel& model, const GenerationRequest& how,
                                         ReplyHead head);
std::unique_ptr<ReplyFormat> completion_format(const LoadedModel& model,
                                               const GenerationRequest& how, bool echo,
                                               ReplyHead head);

Json to_json(const Usage& usage);

}  // namespace counterbeam::serve
