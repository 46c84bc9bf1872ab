// The pieces of a search, for methods of your own: sequences that are opened from prompts, extended
// by sampling, read under other prompts and forked. LanguageModel has the calls; the engine batches
// the calls of all threads. A method written with them runs at the speed of the built-in ones.
//
//     auto opened = model.open({prompt, positive, negative});
//     std::vector<LiveSequence> beams = ...fork()...;
//     model.extend(requests);   // the next block of every beam, read by its followers too
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace counterbeam {

class Sequence;

// One forkable sequence of tokens. Dropping it frees its part of the cache. One call at a time may
// use it. It must not outlive its model.
class LiveSequence {
 public:
  LiveSequence();  // empty; for containers
  explicit LiveSequence(std::unique_ptr<Sequence> sequence);
  ~LiveSequence();
  LiveSequence(LiveSequence&&) noexcept;
  LiveSequence& operator=(LiveSequence&&) noexcept;

  // Shares the cached prefix; costs microseconds. REQUIRES that this is not empty, as below.
  LiveSequence fork() const;
  std::int64_t length() const;  // tokens, the prompt included
  Sequence* sequence() const { return sequence_.get(); }

 private:
  std::unique_ptr<Sequence> sequence_;
};

struct OpenedPrompts {
  std::vector<LiveSequence> sequences{};  // one per prompt
  std::int64_t computed_tokens = 0;       // prompt tokens that went through the model
  std::int64_t cached_tokens = 0;         // those shared with another prompt, or found in the cache
};

// The key of a draw: the same distribution and the same key give the same token, whatever else
// runs. The built-in methods use the number of the block, the place of the beam in its list, and
// the number of tokens that the answer has.
struct DrawName {
  std::uint64_t seed = 0;
  std::uint32_t question = 0;
  std::uint32_t block = 0;
  std::uint32_t beam = 0;      // below 2^24
  std::uint32_t position = 0;  // of the first token; token i is drawn at position + i
};

struct ContinueRequest {
  LiveSequence* sequence = nullptr;        // sampled from; grows by the drawn tokens
  std::vector<LiveSequence*> followers{};  // read the same tokens under other prompts; grow too
  int max_tokens = 0;
  double temperature = 1;  // 0: the likeliest token
  double top_p = 1;
  int top_k = 0;  // 0: all
  double min_p = 0;
  DrawName draw{};
  std::vector<std::int32_t> stop{};  // drawing one of these ends the request; it is kept
  // Draw from the sum of mix[i] * log-probabilities, where 0 is the sequence and 1.. are the
  // followers; empty: from the sequence alone. Tokens below plausibility times the largest
  // probability under the sequence are not drawn.
  std::vector<float> mix{};
  double plausibility = 0;
  int top = 0;  // likeliest tokens to return per token
};

// By falling log-probability.
using LikelyTokens = std::vector<std::pair<std::int32_t, float>>;

struct Continuation {
  std::vector<std::int32_t> tokens{};
  std::vector<float> logprobs{};        // under the sequence, temperature 1
  std::vector<float> drawn_logprobs{};  // under the distribution that the tokens were drawn from
  std::vector<std::vector<float>> follower_logprobs{};  // [followers][tokens], temperature 1
  std::vector<LikelyTokens> top{};                      // [tokens], where asked for
  bool stopped = false;                                 // the last token is a stop token
  bool full = false;  // ended early: the sequence has the model's maximum length
};

struct ReadRequest {
  LiveSequence* sequence = nullptr;  // grows by the tokens
  std::vector<std::int32_t> tokens{};
  int top = 0;  // likeliest tokens to return per token
};

struct TokensRead {
  std::vector<float> logprobs{};    // of the given tokens, temperature 1
  std::vector<LikelyTokens> top{};  // [tokens], where asked for
};

}  // namespace counterbeam
