#include "diagnose/rewards.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "diagnose/separation.h"

namespace counterbeam {
namespace {

constexpr int kBins = 40;

RewardHistogram histogram_of(std::span<const double> sorted) {
  RewardHistogram histogram;
  histogram.counts.assign(kBins, 0);
  // The middle 99.8 %, symmetric about 0, so that a few extreme tokens do not squeeze the rest.
  const double reach =
      std::max({std::abs(quantile(sorted, 0.001)), std::abs(quantile(sorted, 0.999)), 1e-6});
  histogram.low = -reach;
  histogram.high = reach;
  for (const double value : sorted) {
    if (value < -reach)
      ++histogram.below;
    else if (value > reach)
      ++histogram.above;
    else
      ++histogram.counts[std::min<std::size_t>(
          kBins - 1, static_cast<std::size_t>((value + reach) / (2 * reach) * kBins))];
  }
  return histogram;
}

ContextDivergence divergence_of(std::span<const ProbedQuestion> questions, std::size_t pair,
                                std::vector<float> ContextLogprobs::*side) {
  std::vector<ClusterSum> tokens, answers;
  for (const ProbedQuestion& question : questions) {
    ClusterSum own;
    for (const ProbedAnswer& answer : question.answers) {
      own.sum += sum_of(answer.base) - sum_of(answer.pairs[pair].*side);
      own.count += static_cast<double>(answer.tokens.size());
    }
    tokens.push_back(own);
    answers.push_back({own.sum, static_cast<double>(question.answers.size())});
  }
  return {clustered_mean(tokens), clustered_mean(answers)};
}

struct RewardPlace {
  double reward;
  const ProbedQuestion* question;
  const ProbedAnswer* answer;
  std::size_t token;
};

RewardedToken shown(const RewardPlace& place, const TokenTexts& texts) {
  constexpr std::size_t kBefore = 12;  // tokens
  const std::span<const TokenId> tokens = place.answer->tokens;
  const std::size_t first = place.token > kBefore ? place.token - kBefore : 0;
  return {texts.token(tokens[place.token]),
          texts.excerpts ? texts.text(tokens.subspan(first, place.token - first)) : "",
          place.reward, place.question->id, place.answer->correct};
}

}  // namespace

double quantile(std::span<const double> sorted, double q) {
  CB_CHECK(!sorted.empty());
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

RewardDistribution reward_distribution(std::span<const ProbedQuestion> questions,
                                       std::size_t pair) {
  std::vector<double> rewards, sizes;
  std::vector<ClusterSum> sums;
  for (const ProbedQuestion& question : questions) {
    ClusterSum own;
    for (const ProbedAnswer& answer : question.answers)
      for (std::size_t t = 0; t < answer.tokens.size(); ++t) {
        const double reward = static_cast<double>(answer.pairs[pair].positive[t]) -
                              static_cast<double>(answer.pairs[pair].negative[t]);
        own.sum += reward;
        own.count += 1;
        rewards.push_back(reward);
        sizes.push_back(std::abs(reward));
      }
    sums.push_back(own);
  }
  std::sort(rewards.begin(), rewards.end());
  std::sort(sizes.begin(), sizes.end());
  RewardDistribution result;
  result.tokens = static_cast<std::int64_t>(rewards.size());
  result.mean = clustered_mean(sums);
  double square = 0;
  for (const double reward : rewards) square += std::pow(reward - result.mean.mean, 2);
  result.deviation = std::sqrt(square / static_cast<double>(rewards.size()));
  for (std::size_t i = 0; i < kQuantiles.size(); ++i)
    result.quantiles[i] = quantile(rewards, kQuantiles[i]);
  result.largest = sizes.back();
  result.usual = quantile(sizes, 0.999);
  result.histogram = histogram_of(rewards);
  return result;
}

DivergencePair divergences(std::span<const ProbedQuestion> questions, std::size_t pair) {
  return {divergence_of(questions, pair, &ContextLogprobs::positive),
          divergence_of(questions, pair, &ContextLogprobs::negative)};
}

RewardedTokens rewarded_tokens(std::span<const ProbedQuestion> questions, std::size_t pair,
                               std::size_t most, const TokenTexts& texts) {
  std::vector<RewardPlace> places;
  for (const ProbedQuestion& question : questions)
    for (const ProbedAnswer& answer : question.answers)
      for (std::size_t t = 0; t < answer.tokens.size(); ++t)
        places.push_back({static_cast<double>(answer.pairs[pair].positive[t]) -
                              static_cast<double>(answer.pairs[pair].negative[t]),
                          &question, &answer, t});
  std::stable_sort(places.begin(), places.end(),
                   [](const RewardPlace& a, const RewardPlace& b) { return a.reward > b.reward; });
  const auto collect = [&](auto first, auto last, double sign) {
    std::vector<RewardedToken> found;
    std::set<TokenId> seen;
    for (; first != last && found.size() < most && sign * first->reward > 0; ++first)
      if (seen.insert(first->answer->tokens[first->token]).second)
        found.push_back(shown(*first, texts));
    return found;
  };
  return {collect(places.begin(), places.end(), 1), collect(places.rbegin(), places.rend(), -1)};
}

}  // namespace counterbeam
