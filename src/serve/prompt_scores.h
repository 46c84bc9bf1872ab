// Log-probabilities of the tokens of prompts. A prefix that an earlier prompt shares is not
// computed again: its log-probabilities are remembered here and its keys and values by the engine.
// A prompt whose prefix is being scored at the moment waits for it. Values do not depend on what is
// remembered, since a row of the engine has the same bits in every batch.
#pragma once

#include <condition_variable>
#include <list>
#include <mutex>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "serve/logprobs.h"

namespace counterbeam::serve {

class PromptScores {
 public:
  explicit PromptScores(Engine& engine) : engine_(engine) {}

  // One entry per token, the first not scored, each with its `top` likeliest alternatives.
  // Cancelled where the cancellation is set.
  std::vector<ShownToken> score(std::span<const TokenId> prompt, int top,
                                const Cancellation* cancellation);

  // Prompt tokens that were asked for, and those whose values were remembered.
  struct Counts {
    std::int64_t tokens = 0, remembered = 0;
  };
  Counts counts() const;

 private:
  struct Known {
    std::vector<TokenId> tokens;
    int top = 0;
    std::vector<ShownToken> values;  // empty while it is being computed
  };
  using Place = std::list<Known>::iterator;

  std::vector<ShownToken> known_prefix(std::unique_lock<std::mutex>& lock,
                                       std::span<const TokenId> prompt, int top,
                                       const Cancellation* cancellation);
  void forget_oldest();

  static constexpr std::size_t kPrompts = 64;
  static constexpr std::size_t kMostValues = 2'000'000;  // tokens and alternatives in all

  Engine& engine_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Known> known_;  // most recent first
  Counts counts_;
};

}  // namespace counterbeam::serve
