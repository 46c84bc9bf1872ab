// How a token is drawn from the scores of a row: its logits, or the scores of a mixture of rows.
//
// Every back end applies the options in this order, which is vLLM's:
//   1. Temperature: the distribution is softmax(score / temperature) over the tokens that may be
//      drawn at all (ids below HeadJob::vocab_limit; for a mixture, the plausible tokens).
//   2. min-p keeps the tokens with p >= min_p * max p. Tokens of equal score are kept or dropped
//      together.
//   3. top-k keeps the top_k likeliest tokens that are left. Of equal scores, the lowest ids come
//      first.
//   4. top-p keeps the likeliest tokens that are left, in the same order, until their mass reaches
//      top_p times the mass of what min-p and top-k have left. At least one token is kept.
//   5. A token is drawn from what is left, renormalised.
// At temperature 0 the likeliest token is taken, the lowest id on ties, and no filter has an
// effect.
//
// Code that consumes the options unpacks all of them by a structured binding, so that a new option
// does not compile until every back end, the range checks of requests and the tests handle it.
#pragma once

#include <cmath>
#include <limits>

namespace counterbeam {

struct Sampling {
  float temperature = 1.0f;  // 0: the likeliest token
  float top_p = 1.0f;        // in (0, 1]; 1 keeps all
  int top_k = 0;             // 0 keeps all
  float min_p = 0.0f;        // in [0, 1]; 0 keeps all
};

// Whether min-p, top-k or top-p may remove tokens of a vocabulary of this size.
constexpr bool filters(const Sampling& sampling, int vocab) {
  const auto [temperature, top_p, top_k, min_p] = sampling;
  return temperature > 0 && ((top_k > 0 && top_k < vocab) || top_p < 1 || min_p > 0);
}

// min-p as a distance between scores: a token is kept if score >= largest score - min_p_reach, in
// double. All back ends use this number, computed on the host, so that they keep the same tokens.
// Infinite where min-p is off.
inline double min_p_reach(const Sampling& sampling) {
  if (sampling.min_p <= 0) return std::numeric_limits<double>::infinity();
  return -double(sampling.temperature) * std::log(double(sampling.min_p));
}

}  // namespace counterbeam
