#include "diagnose/future_correction.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "diagnose/separation.h"
#include "search/lookahead.h"
#include "theory/bounds.h"

namespace counterbeam {
namespace {

std::vector<double> steered(std::span<const double> rewards, double steer) {
  std::vector<double> weights;
  for (const double reward : rewards) weights.push_back(steer * reward);
  return weights;
}

// The siblings of one scoring point at one strength.
struct SiblingEstimates {
  std::vector<LogZeta> zeta;
  std::vector<double> first_half, second_half;  // log zeta from every other rollout
  std::vector<double> reward;                   // R(a)/alpha of the beginnings
  std::vector<double> weight;                   // log pi(a) + R(a)/alpha
  std::vector<double> times;                    // how often the beginning was drawn
  double effective = 0;                         // sum over siblings
};

SiblingEstimates estimates_of(const ProbedQuestion& question, const ScoringPoint& point,
                              std::size_t pair, double steer) {
  SiblingEstimates result;
  const auto length = static_cast<std::size_t>(point.tokens);
  for (const ProbedFuture& sibling : point.siblings) {
    const ProbedAnswer& answer = question.answers[sibling.answer];
    const std::vector<double>& rewards = sibling.rewards[pair];
    result.zeta.push_back(log_zeta(rewards, steer));
    result.effective += effective_rollouts(rewards, steer);
    const double reward = sum_of(std::span(answer.pairs[pair].positive).first(length)) -
                          sum_of(std::span(answer.pairs[pair].negative).first(length));
    result.reward.push_back(steer * reward);
    result.weight.push_back(sum_of(std::span(answer.base).first(length)) + steer * reward);
    result.times.push_back(sibling.times);
    std::vector<double> halves[2];
    for (std::size_t m = 0; m < rewards.size(); ++m) halves[m % 2].push_back(steer * rewards[m]);
    result.first_half.push_back(log_mean_exp(halves[0]));
    result.second_half.push_back(log_mean_exp(halves[1]));
  }
  return result;
}

double squares_about_mean(const std::vector<double>& values) {
  double mean = 0, square = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) square += std::pow(value - mean, 2);
  return square;
}

// Shares of exp(log weight) * times.
std::vector<double> normalised(const std::vector<double>& log_weights,
                               const std::vector<double>& times) {
  const double top = *std::max_element(log_weights.begin(), log_weights.end());
  std::vector<double> shares;
  double sum = 0;
  for (std::size_t i = 0; i < log_weights.size(); ++i) {
    shares.push_back(times[i] * std::exp(log_weights[i] - top));
    sum += shares.back();
  }
  for (double& share : shares) share /= sum;
  return shares;
}

// Total variation between the siblings weighted by exp(reward + a) and by exp(reward + b).
double sibling_distance(const SiblingEstimates& siblings, const std::vector<double>& a,
                        const std::vector<double>& b) {
  std::vector<double> with_a = siblings.reward, with_b = siblings.reward;
  for (std::size_t i = 0; i < a.size(); ++i) {
    with_a[i] += a[i];
    with_b[i] += b[i];
  }
  const std::vector<double> p = normalised(with_a, siblings.times);
  const std::vector<double> q = normalised(with_b, siblings.times);
  double distance = 0;
  for (std::size_t i = 0; i < p.size(); ++i) distance += std::abs(p[i] - q[i]) / 2;
  return distance;
}

using PlacedPoint = std::pair<const ProbedQuestion*, const ScoringPoint*>;

void add_bounds(std::span<const PlacedPoint> points, const FutureFacts& facts,
                FutureAtSteer& result) {
  const auto bounds = [&](double reward, bool balanced) {
    return TruncationBounds{facts.longest, facts.block, reward, result.steer, balanced};
  };
  const auto count = static_cast<double>(points.size());
  for (const auto& [question, point] : points) {
    const int before = point->tokens - facts.block;  // the block that was just drawn began here
    result.bound += bounds(facts.largest_reward, false).step(before) / count;
    result.usual_bound += bounds(facts.usual_reward, false).step(before) / count;
    result.balanced_bound += bounds(facts.largest_reward, true).step(before) / count;
  }
  result.trajectory_bound = bounds(facts.largest_reward, false).trajectory();
}

FutureAtSteer future_at(std::span<const PlacedPoint> points, std::size_t pair, double steer,
                        const FutureFacts& facts) {
  FutureAtSteer result;
  result.steer = steer;
  double siblings = 0, freedom = 0, zeta_squares = 0, score_squares = 0, errors = 0;
  double orders = 0, changed = 0, noise = 0;
  std::vector<ClusterSum> distances;
  for (const auto& [question, point] : points) {
    const SiblingEstimates own = estimates_of(*question, *point, pair, steer);
    std::vector<double> zeta;
    for (const LogZeta& one : own.zeta) {
      zeta.push_back(one.value);
      errors += one.error * one.error;
      result.log_zeta += one.value;
    }
    siblings += static_cast<double>(zeta.size());
    freedom += static_cast<double>(zeta.size() - 1);
    zeta_squares += squares_about_mean(zeta);
    score_squares += squares_about_mean(own.weight);
    result.effective_rollouts += own.effective;
    for (std::size_t i = 0; i < zeta.size(); ++i)
      for (std::size_t j = i + 1; j < zeta.size(); ++j) {
        const double before = own.weight[i] - own.weight[j];
        orders += 1;
        changed += before * (before + zeta[i] - zeta[j]) < 0;
      }
    if (point->place != ScoringPlace::FirstBlock) continue;
    distances.push_back({sibling_distance(own, zeta, std::vector<double>(zeta.size(), 0.0)), 1});
    noise += sibling_distance(own, own.first_half, own.second_half) / 2;
  }
  result.log_zeta /= siblings;
  result.effective_rollouts /= siblings;
  result.noise = std::sqrt(errors / siblings);
  result.spread = std::sqrt(std::max(0.0, zeta_squares / freedom - errors / siblings));
  result.score_spread = std::sqrt(score_squares / freedom);
  result.order_changes = changed / orders;
  if (!distances.empty()) {
    result.distance = clustered_mean(distances);
    result.distance->low = std::max(0.0, result.distance->low);
    result.distance->high = std::min(1.0, result.distance->high);
    result.distance_noise = noise / static_cast<double>(distances.size());
  }
  add_bounds(points, facts, result);
  return result;
}

}  // namespace

LogZeta log_zeta(std::span<const double> rewards, double steer) {
  CB_CHECK(rewards.size() >= 2);
  const auto n = static_cast<double>(rewards.size());
  const std::vector<double> all = steered(rewards, steer);
  const double whole = log_mean_exp(all);
  std::vector<double> without;
  for (std::size_t left_out = 0; left_out < all.size(); ++left_out) {
    const double share = std::exp(all[left_out] - whole) / n;  // of the sum of all weights
    if (share < 0.9) {
      without.push_back(whole + std::log((1 - share) * n / (n - 1)));
      continue;
    }
    std::vector<double> rest = all;  // 1 - share would cancel
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(left_out));
    without.push_back(log_mean_exp(rest));
  }
  double mean = 0;
  for (const double value : without) mean += value / n;
  return {n * whole - (n - 1) * mean, std::sqrt(squares_about_mean(without) * (n - 1) / n)};
}

double effective_rollouts(std::span<const double> rewards, double steer) {
  const std::vector<double> all = steered(rewards, steer);
  const double top = *std::max_element(all.begin(), all.end());
  double sum = 0, square = 0;
  for (const double value : all) {
    sum += std::exp(value - top);
    square += std::exp(2 * (value - top));
  }
  return sum * sum / square;
}

std::vector<FutureSummary> summarise_futures(std::span<const ProbedQuestion> questions,
                                             std::size_t pair, std::span<const double> steers,
                                             const FutureFacts& facts) {
  std::vector<FutureSummary> summaries;
  for (const ScoringPlace place : {ScoringPlace::FirstBlock, ScoringPlace::Halfway}) {
    std::vector<PlacedPoint> points;
    for (const ProbedQuestion& question : questions)
      for (const ScoringPoint& point : question.points)
        if (point.place == place) points.emplace_back(&question, &point);
    if (points.empty()) continue;
    FutureSummary summary;
    summary.place = place;
    summary.questions = static_cast<int>(points.size());
    double remaining = 0, rollouts = 0;
    for (const auto& [question, point] : points) {
      summary.tokens += static_cast<double>(point->tokens) / summary.questions;
      summary.siblings += static_cast<int>(point->siblings.size());
      for (const ProbedFuture& sibling : point->siblings)
        for (const int tokens : sibling.tokens) {
          remaining += tokens;
          rollouts += 1;
        }
    }
    summary.remaining = remaining / rollouts;
    summary.rollouts = static_cast<int>(std::lround(rollouts / summary.siblings));
    const double left = facts.longest - summary.tokens;
    if (left > 0 && facts.largest_reward > 0)
      summary.informative = std::atanh(0.5) / (left * facts.largest_reward);
    for (const double steer : steers)
      summary.steers.push_back(future_at(points, pair, steer, facts));
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::string_view to_string(ScoringPlace place) {
  return place == ScoringPlace::FirstBlock ? "first-block" : "halfway";
}

}  // namespace counterbeam
