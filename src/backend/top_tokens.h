// The likeliest tokens of a position, for callers that show or compare alternatives.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/ids.h"

namespace counterbeam {

struct TokenLogprob {
  TokenId token = -1;
  float logprob = 0;  // temperature 1
};
using TopTokens = std::vector<TokenLogprob>;  // by falling log-probability, then by rising id

// The ids of the `count` largest logits; ties go to the lower id.
inline std::vector<TokenId> largest_logits(std::span<const float> logits, int count) {
  std::vector<TokenId> best;  // a heap, its worst entry in front
  const auto before = [&](TokenId a, TokenId b) {
    return logits[std::size_t(a)] != logits[std::size_t(b)]
               ? logits[std::size_t(a)] > logits[std::size_t(b)]
               : a < b;
  };
  for (std::size_t i = 0; i < logits.size() && count > 0; ++i) {
    const auto id = static_cast<TokenId>(i);
    const bool full = best.size() == static_cast<std::size_t>(count);
    if (full && !before(id, best.front())) continue;
    if (full) {
      std::pop_heap(best.begin(), best.end(), before);
      best.pop_back();
    }
    best.push_back(id);
    std::push_heap(best.begin(), best.end(), before);
  }
  std::sort_heap(best.begin(), best.end(), before);
  return best;
}

// Their log-probabilities, given the log of the sum of exponentials of the whole row.
inline TopTokens top_tokens(std::span<const float> logits, int count, double total) {
  TopTokens top;
  for (const TokenId id : largest_logits(logits, count))
    top.push_back({id, static_cast<float>(double(logits[std::size_t(id)]) - total)});
  return top;
}

}  // namespace counterbeam
