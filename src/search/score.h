// The score that search ranks by: the mean (or sum) over an answer's tokens of base log-probability
// plus steer (1/alpha) times the reward, where the reward of a token is its log-probability under
// the positive context less that under the negative one. In a one-sided contrast the plain prompt
// takes the place of one context. Log-probabilities are the model's own, whatever temperature the
// tokens were drawn at; the token that ends an answer counts.
#pragma once

#include <cstdint>

namespace counterbeam {

// Running sums over an answer so far. A block only ever adds its own tokens.
struct Sums {
  double base = 0;
  double positive = 0;  // both 0 where contrast is off
  double negative = 0;
  std::int64_t tokens = 0;

  double reward() const { return positive - negative; }  // R(a)
};

// How the scores of tokens make up that of an answer. Sums favour short answers.
enum class Aggregate { Mean, Sum };

// What a total over the tokens of an answer counts in its score. REQUIRES tokens > 0.
inline double aggregated(double total, std::int64_t tokens, Aggregate aggregate) {
  return aggregate == Aggregate::Mean ? total / static_cast<double>(tokens) : total;
}

// s(a). REQUIRES sums.tokens > 0.
inline double score(const Sums& sums, double steer, Aggregate aggregate = Aggregate::Mean) {
  return aggregated(sums.base + steer * sums.reward(), sums.tokens, aggregate);
}

}  // namespace counterbeam
