// The rewards of tokens under one pair of contexts: their distribution, the tokens with the largest
// ones, and how far the contexts are from the base prompt.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "diagnose/probe.h"
#include "eval/statistics.h"

namespace counterbeam {

inline constexpr std::array<double, 9> kQuantiles = {0.001, 0.01, 0.05, 0.25, 0.5,
                                                     0.75,  0.95, 0.99, 0.999};

// Equal bins from low to high; what lies outside is counted apart.
struct RewardHistogram {
  double low = 0, high = 0;
  std::vector<std::int64_t> counts;
  std::int64_t below = 0, above = 0;
};

struct RewardDistribution {
  std::int64_t tokens = 0;
  Interval mean;  // per token, clustered by question
  double deviation = 0;
  std::array<double, kQuantiles.size()> quantiles{};
  double largest = 0;  // of |r|: r_max, which grows with the number of tokens
  double usual = 0;    // the 99.9 % quantile of |r|
  RewardHistogram histogram;
};

RewardDistribution reward_distribution(std::span<const ProbedQuestion> questions, std::size_t pair);

// KL(base || context), as the mean of log pi(a_t) - log pi(a_t | context) over tokens drawn from
// the base, clustered by question.
struct ContextDivergence {
  Interval per_token;
  Interval per_answer;
};

struct DivergencePair {
  ContextDivergence positive, negative;
};

DivergencePair divergences(std::span<const ProbedQuestion> questions, std::size_t pair);

// Where a large reward occurred.
struct RewardedToken {
  std::string token;
  std::string before;  // the end of the answer's text before it
  double reward = 0;
  std::string problem;
  bool correct = false;  // the answer it stands in
};

struct RewardedTokens {
  std::vector<RewardedToken> highest, lowest;
};

// How tokens become text.
struct TokenTexts {
  std::function<std::string(TokenId)> token;
  std::function<std::string(std::span<const TokenId>)> text;
  bool excerpts = true;  // false: `before` stays empty
};

// Up to `most` tokens with the highest and with the lowest rewards, each token once.
RewardedTokens rewarded_tokens(std::span<const ProbedQuestion> questions, std::size_t pair,
                               std::size_t most, const TokenTexts& texts);

// The q-quantile of sorted values, interpolated between neighbours. REQUIRES: at least one value.
double quantile(std::span<const double> sorted, double q);

}  // namespace counterbeam
