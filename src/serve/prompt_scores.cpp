#include "serve/prompt_scores.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"

namespace counterbeam::serve {
namespace {

// A prefix that is worth waiting for.
constexpr std::size_t kWorthWaiting = 16;

std::size_t shared_length(std::span<const TokenId> a, std::span<const TokenId> b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                  a.begin());
}

}  // namespace

PromptScores::Counts PromptScores::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

// The values of the longest prefix that is known with enough alternatives. Waits for a prompt that
// is being scored where that one shares much more.
std::vector<ShownToken> PromptScores::known_prefix(std::unique_lock<std::mutex>& lock,
                                                   std::span<const TokenId> prompt, int top,
                                                   const Cancellation* cancellation) {
  for (;;) {
    std::size_t longest = 0, coming = 0;
    Place best = known_.end();
    for (Place one = known_.begin(); one != known_.end(); ++one) {
      const std::size_t shared = one->top >= top ? shared_length(prompt, one->tokens) : 0;
      if (one->values.empty()) {
        coming = std::max(coming, shared);
      } else if (shared > longest) {
        longest = shared;
        best = one;
      }
    }
    if (coming < longest + kWorthWaiting) {
      if (best == known_.end()) return {};
      known_.splice(known_.begin(), known_, best);
      std::vector<ShownToken> values(best->values.begin(),
                                     best->values.begin() + static_cast<std::ptrdiff_t>(longest));
      for (ShownToken& value : values)
        if (value.top.size() > static_cast<std::size_t>(top))
          value.top.resize(static_cast<std::size_t>(top));
      return values;
    }
    if (cancellation && cancellation->cancelled()) throw Cancelled("cancelled");
    changed_.wait_for(lock, std::chrono::milliseconds(50));
  }
}

void PromptScores::forget_oldest() {
  const auto size = [](const Known& one) {
    return one.values.size() * static_cast<std::size_t>(one.top + 1);
  };
  std::size_t count = 0, values = 0;
  for (Place one = known_.begin(); one != known_.end();) {
    values += size(*one);
    const bool keep = one->values.empty() || (++count <= kPrompts && values <= kMostValues);
    one = keep ? std::next(one) : known_.erase(one);
  }
}

std::vector<ShownToken> PromptScores::score(std::span<const TokenId> prompt, int top,
                                            const Cancellation* cancellation) {
  CB_CHECK(!prompt.empty());
  std::unique_lock lock(mutex_);
  std::vector<ShownToken> values = known_prefix(lock, prompt, top, cancellation);
  counts_.tokens += static_cast<std::int64_t>(prompt.size());
  counts_.remembered += static_cast<std::int64_t>(values.size());
  if (values.size() == prompt.size()) return values;
  known_.push_front({{prompt.begin(), prompt.end()}, top, {}});
  const Place own = known_.begin();
  lock.unlock();
  try {
    if (values.empty()) values.push_back({.token = prompt[0], .scored = false});
    const std::size_t from = values.size();
    const std::vector<std::vector<TokenId>> prefix = {
        {prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(from)}};
    Opened opened = engine_.open(prefix, cancellation);
    std::vector<TopTokens> alternatives;
    const ScoreRequest request{.sequence = &opened.sequences[0],
                               .tokens = prompt.subspan(from),
                               .top = top,
                               .top_tokens = &alternatives,
                               .keep = true};
    if (from < prompt.size()) {
      const std::vector<float> scores = engine_.score({&request, 1}, cancellation)[0];
      for (std::size_t i = 0; i < scores.size(); ++i)
        values.push_back({.token = prompt[from + i],
                          .logprob = scores[i],
                          .top = top > 0 ? std::move(alternatives[i]) : TopTokens()});
    }
  } catch (...) {
    lock.lock();
    known_.erase(own);
    changed_.notify_all();
    throw;
  }
  lock.lock();
  own->values = values;
  forget_oldest();
  changed_.notify_all();
  return values;
}

}  // namespace counterbeam::serve
