// Log-probabilities in the two shapes of the OpenAI API: arrays of the completions API, and objects
// per token of the chat API. The number of the chosen token is the same wherever it stands.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/top_tokens.h"
#include "base/json_fwd.h"
#include "text/tokenizer.h"

namespace counterbeam::serve {

// A token of a prompt or an answer with what is known of it.
struct ShownToken {
  TokenId token = -1;
  bool scored = true;  // false: the first token of a prompt, which nothing predicts
  float logprob = 0;
  TopTokens top{};
};

// The text of a token; "bytes:\xe2\x82" where its bytes are no text by themselves.
std::string token_label(const Tokenizer& tokenizer, TokenId token);

std::size_t count_characters(std::string_view text);

// Where tokens begin in a text, in characters. A token that ends within a character begins where
// that character does.
class TextOffsets {
 public:
  struct Options {
    std::size_t first = 0;   // of the first token
    std::size_t hidden = 0;  // characters at the beginning that are not shown
    bool specials = false;   // special tokens are a part of the text
  };
  // REQUIRES that the tokenizer outlives it.
  TextOffsets(const Tokenizer& tokenizer, const Options& options)
      : decoder_(tokenizer, {.skip_special = !options.specials}),
        at_(options.first),
        hidden_(options.hidden) {}

  std::size_t next(TokenId token);  // where this token begins

 private:
  IncrementalDecoder decoder_;
  std::size_t at_, hidden_;
};

// {"text_offset", "token_logprobs", "tokens", "top_logprobs"}. With `top` 0, top_logprobs holds the
// chosen tokens alone.
Json legacy_logprobs(const Tokenizer& tokenizer, std::span<const ShownToken> tokens,
                     TextOffsets& offsets);

// [{"token", "logprob", "bytes", "top_logprobs"}]
Json chat_logprobs(const Tokenizer& tokenizer, std::span<const ShownToken> tokens, int top);

// [null, {"ID": {"logprob", "rank", "decoded_token"}}], as vLLM gives them.
Json prompt_logprobs(const Tokenizer& tokenizer, std::span<const ShownToken> tokens);

}  // namespace counterbeam::serve
