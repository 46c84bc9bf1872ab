// Counterbeam's public interface: load a model, ask it, score an answer.
//
//     auto model = counterbeam::LanguageModel::load("models/tiny-dense");
//     std::cout << model.ask("Compute 12 + 3 * 7.").text << "\n";
//
// Calls throw BadInput for bad input, Failed for what the machine cannot do, and Cancelled when
// they are cancelled (counterbeam/error.h). A model may be used from many threads at once; the
// engine batches their calls.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "counterbeam/cancellation.h"
#include "counterbeam/error.h"
#include "counterbeam/sequences.h"

namespace counterbeam {

struct LoadOptions {
  std::string device = "auto";  // auto, cpu, cuda
  std::string dtype = "auto";   // auto, f32, bf16
  // "int8": on the CPU, activations are rounded to 8 bits before products with integer weights of 8
  // or 4 bits, not FP8 (docs/engine.md). "auto": activations are not rounded.
  std::string activations = "auto";
  int threads = 0;        // 0: all cores
  bool progress = false;  // a bar on the terminal while loading
  // Memory for keys, values and recurrent states; 0: a share of the available memory.
  std::int64_t cache_bytes = 0;
  // Type of keys and values in the cache. "auto": that of the computation; "fp8", "int8": half the
  // memory of bf16, but answers change (docs/engine.md).
  std::string cache_dtype = "auto";
  // Where answers stop. "turn": at the checkpoint's own end tokens, and at the token with which its
  // chat template ends an assistant's message; "eos": at the checkpoint's own end tokens alone.
  std::string stop_at = "turn";
  // Servers that compute in place of this process, "http://HOST:PORT[,URL...]" (docs/remote.md).
  // The model's folder then gives the tokenizer and the chat template; its weights are not read.
  std::string engine{};
  std::string engine_key{};    // sent to them as a bearer token; empty: none
  std::string engine_model{};  // their name for the model; empty: the only one that they serve
};

// One turn of a conversation.
struct Message {
  std::string role;  // system, user, assistant
  std::string content;
  std::string name{};  // of the speaker, for templates that show it
};

// A pair of contexts by name (docs/contexts.md).
struct ContextPair {
  std::string name{};
  std::string positive{};
  std::string negative{};
};

// The pairs of a file {"NAME": {"positive": TEXT, "negative": TEXT}, ...}. BadInput names the file,
// the pair and what is wrong with it.
std::vector<ContextPair> read_context_pairs(const std::string& path);

// The progress of a search, reported after every block.
struct AskProgress {
  int block = 0;             // counted from 1
  int blocks = 0;            // at most
  std::size_t alive = 0;     // beams that go on
  std::size_t finished = 0;  // answers found
  double best = 0;           // score of the best answer so far
  std::string best_text{};   // the best answer so far
  std::string agreed{};      // the beginning of the answer that all candidates share
};

// A whole or partial answer that a search compares with others.
struct AnswerCandidate {
  std::string text{};
  std::vector<std::int32_t> tokens{};
  double score = 0;
  bool finished = false;  // ended by itself or at a stop
  // Sums of the log-probabilities of its tokens under the three prompts; positive and negative are
  // 0 where the search used no contexts.
  double base = 0, positive = 0, negative = 0;
  // The same per token. Positive and negative are empty where the search used no contexts.
  std::vector<float> token_base{}, token_positive{}, token_negative{};
};

// A scorer of your own: returns one score per candidate, higher is better. It is called once per
// block with all candidates of the block, and only by methods that rank (cbs, beam, best-of-n).
using Scorer = std::function<std::vector<double>(const std::vector<AnswerCandidate>&)>;

struct AskOptions {
  std::string method = "cbs";  // with settings, as on the command line: "cbs:steer=0.7:block=16"
  std::map<std::string, std::string> settings{};  // more of them: {"steer", "0.7"}
  std::string contexts{};                         // a named pair instead of the method's
  std::string positive{};                         // or a pair of your own; both or neither
  std::string negative{};
  std::vector<ContextPair> pairs{};  // named pairs of your own, for `contexts` and `method`
  std::string system{};              // system message; empty: none, or the first of the messages
  bool raw = false;                  // continue the question itself, without a chat template
  std::string template_arguments = "{}";  // JSON object with further template variables
  // Where the chat template has no place for a system message, and with `raw`: put it before the
  // question, with a blank line between them. Otherwise such a question is an error.
  bool system_as_user = false;
  // Where the answer stops besides the model's end tokens. A stop text ends it where it is
  // complete, and the answer's text is what comes before; a stop id is one more end token.
  std::vector<std::string> stop{};
  std::vector<std::int32_t> stop_ids{};
  std::uint64_t seed = 0;      // same seed, same answer
  std::uint32_t question = 0;  // number of the question in a series; part of the randomness
  bool trace = false;          // fill in Answer::trace
  const Cancellation* cancellation = nullptr;
  bool keep_partial = false;  // when cancelled, return the best answer so far if there is one
  std::function<void(const AskProgress&)> on_block{};
  Scorer scorer{};
};

struct Answer {
  std::string text{};
  std::vector<std::int32_t> tokens{};
  double score = 0;
  bool finished = false;     // ended by itself or at a stop; otherwise cut at the token limit
  bool interrupted = false;  // cancelled: this was the best answer so far
  std::vector<AnswerCandidate> candidates{};  // every answer the search closed, in that order
  std::size_t selected = 0;                   // which of them this is
  std::string trace{};                        // JSON (docs/search.md), if AskOptions::trace
  std::vector<std::size_t> token_bytes{};     // of `text` per token, without an end token
  std::string settings{};                     // JSON: the method and all of its settings
  std::int64_t generated_tokens = 0;          // over every candidate
  std::int64_t scored_tokens = 0;             // read under the other prompts
  std::int64_t prompt_tokens = 0;             // computed
  std::int64_t cached_tokens = 0;             // prompt tokens that were shared instead
  double seconds = 0;
  std::string error{};  // ask_all: why this question has no answer; empty: it has one
};

// One token of an answer. Log-probabilities at temperature 1; those of a context that a one-sided
// contrast leaves out are those of the plain prompt.
struct TokenScore {
  std::int32_t token = 0;
  std::string text{};
  float base = 0;
  float positive = 0;
  float negative = 0;
  float reward() const { return positive - negative; }
};

struct ScoreOptions {
  std::string contexts{};  // a named pair, neutral, or none; empty: reasoning
  std::string positive{};  // or your own; both or neither
  std::string negative{};
  std::vector<ContextPair> pairs{};  // named pairs of your own, for `contexts`
  double steer = 0.25;               // strength 1/alpha of the score
  std::string contrast = "both";     // positive or negative: that context against the plain prompt
  std::string aggregate = "mean";    // over the tokens, or sum
  bool end = false;  // count the token that ends the answer too: the likeliest end token
  std::string system{};
  bool raw = false;
  std::string template_arguments = "{}";
  bool system_as_user = false;  // as in AskOptions
};

struct ScoredAnswer {
  std::vector<TokenScore> tokens{};
  double score = 0;  // mean, or sum, of base + steer * reward
};

// The token ids that a question becomes. Without contexts, positive and negative are empty; the
// side that a one-sided contrast leaves out is the base prompt.
struct PromptIds {
  std::vector<std::int32_t> base{}, positive{}, negative{};
};

struct ModelInfo {
  std::string name{};         // ORG/NAME, or the folder's name
  std::string engine{};       // model and back end, for people
  std::string device{};       // cpu, cuda or remote (LoadOptions::engine)
  std::string dtype{};        // precision of the computation
  std::string activations{};  // "int8" if LoadOptions asked for them, else empty
  int vocabulary = 0;
  std::int64_t max_length = 0;             // prompt and answer together
  std::vector<std::int32_t> end_tokens{};  // end an answer; see LoadOptions::stop_at
  bool chat_template = false;              // false: questions need `raw`
};

class LanguageModel {
 public:
  // A Hugging Face folder, ORG/NAME in the local hub cache, or the name of a shipped model. Empty:
  // the default shipped model.
  static LanguageModel load(const std::string& name, const LoadOptions& options = {});
  ~LanguageModel();
  LanguageModel(LanguageModel&&) noexcept;
  LanguageModel& operator=(LanguageModel&&) noexcept;

  Answer ask(const std::string& question, const AskOptions& options = {}) const;
  // A conversation of several turns; the last message is the user's.
  Answer ask(const std::vector<Message>& messages, const AskOptions& options = {}) const;
  // Many questions, up to `concurrency` searches at once, answers in order. Question i is number
  // options.question + i of the series. A question that cannot be answered has its error in
  // Answer::error; the others are not affected. Callbacks come from several threads.
  std::vector<Answer> ask_all(const std::vector<std::string>& questions,
                              const AskOptions& options = {}, int concurrency = 16) const;
  std::vector<Answer> ask_all(const std::vector<std::vector<Message>>& conversations,
                              const AskOptions& options = {}, int concurrency = 16) const;

  // Continues a prompt that is given as token ids, without a chat template.
  Answer ask_ids(const std::vector<std::int32_t>& prompt, const AskOptions& options = {}) const;
  std::vector<Answer> ask_all_ids(const std::vector<std::vector<std::int32_t>>& prompts,
                                  const AskOptions& options = {}, int concurrency = 16) const;
  // The prompts that ask() would search with.
  PromptIds prompts(const std::string& question, const AskOptions& options = {}) const;
  PromptIds prompts(const std::vector<Message>& messages, const AskOptions& options = {}) const;

  ScoredAnswer score(const std::string& question, const std::string& answer,
                     const ScoreOptions& options = {}) const;
  ScoredAnswer score(const std::vector<Message>& messages, const std::string& answer,
                     const ScoreOptions& options = {}) const;

  ModelInfo info() const;
  // Control tokens written out in the text become their ids only with `special`.
  std::vector<std::int32_t> encode(const std::string& text, bool special = false) const;
  std::string decode(const std::vector<std::int32_t>& tokens) const;  // control tokens left out
  std::string token_text(std::int32_t token) const;                   // control tokens spelled out
  // Renders a JSON array of messages by the chat template, with the JSON object `arguments` as
  // further variables (add_generation_prompt, enable_thinking, tools, ...).
  std::string render(const std::string& messages, const std::string& arguments = "{}") const;

  // Calls `row` with the logits (float32 [vocabulary]) after each of the ids, in order. Throws
  // Failed for a remote engine, which does not return logits.
  void logits(std::span<const std::int32_t> ids,
              const std::function<void(std::size_t position, std::span<const float> row)>& row,
              const Cancellation* cancellation = nullptr) const;

  // The pieces of a search (counterbeam/sequences.h). Each call blocks until it is done; calls of
  // other threads run in the same batches, and results do not depend on them. A call that throws
  // leaves its sequences as they were.
  OpenedPrompts open(const std::vector<std::vector<std::int32_t>>& prompts,
                     const Cancellation* cancellation = nullptr) const;
  std::vector<Continuation> extend(std::span<const ContinueRequest> requests,
                                   const Cancellation* cancellation = nullptr) const;
  // Reads given tokens and appends them to the sequences.
  std::vector<TokensRead> read(std::span<const ReadRequest> requests,
                               const Cancellation* cancellation = nullptr) const;

 private:
  friend struct PublicModel;  // src/search/public_model.h
  struct Parts;
  explicit LanguageModel(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// A trace as one self-contained page that shows the tree. `trace` is Answer::trace, and `texts` the
// texts of its tokens (LanguageModel::token_text); tokens without one are shown by their ids.
std::string trace_page(const std::string& trace, const std::string& question,
                       const std::map<std::int32_t, std::string>& texts);

}  // namespace counterbeam
