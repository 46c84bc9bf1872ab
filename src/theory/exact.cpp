#include "theory/exact.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace counterbeam {
namespace {

void normalise(std::vector<double>& weights) {
  double sum = 0;
  for (double weight : weights) sum += weight;
  for (double& weight : weights) weight /= sum;
}

std::vector<TokenId> joined(std::span<const TokenId> prefix, std::span<const TokenId> more) {
  std::vector<TokenId> all(prefix.begin(), prefix.end());
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

ExactTheory::ExactTheory(const ToyModel& model, double steer) : model_(model), steer_(steer) {
  const int horizon = model_.horizon(), vocab = model_.vocab();
  model_.each_prefix([&](std::span<const TokenId> prefix) {
    for (TokenId v = 0; v < vocab; ++v)
      largest_reward_ = std::max(largest_reward_, std::abs(model_.reward(prefix, v)));
  });
  zeta_.resize(static_cast<std::size_t>(horizon) + 1);
  zeta_.back().assign(static_cast<std::size_t>(std::llround(std::pow(vocab, horizon))), 1.0);
  for (int length = horizon - 1; length >= 0; --length) {
    const auto& longer = zeta_[static_cast<std::size_t>(length) + 1];
    auto& values = zeta_[static_cast<std::size_t>(length)];
    model_.each_sequence(length, [&](std::span<const TokenId> prefix) {
      const std::vector<double> weights = chunk_weights(prefix, 1);
      double sum = 0;
      for (std::size_t v = 0; v < weights.size(); ++v)
        sum += weights[v] * longer[model_.index(prefix) * weights.size() + v];
      values.push_back(sum);
    });
  }
}

std::vector<double> ExactTheory::chunk_weights(std::span<const TokenId> prefix, int length) const {
  std::vector<double> weights;
  model_.each_sequence(length, [&](std::span<const TokenId> chunk) {
    const std::vector<TokenId> all = joined(prefix, chunk);
    double weight = 1;
    for (std::size_t i = prefix.size(); i < all.size(); ++i) {
      const auto before = std::span(all).first(i);
      weight *= model_.probabilities(ToyContext::Base, before)[static_cast<std::size_t>(all[i])] *
                std::exp(steer_ * model_.reward(before, all[i]));
    }
    weights.push_back(weight);
  });
  return weights;
}

double ExactTheory::zeta(std::span<const TokenId> prefix) const {
  return zeta_[prefix.size()][model_.index(prefix)];
}

std::vector<double> ExactTheory::target() const {
  std::vector<double> weights = chunk_weights({}, model_.horizon());
  normalise(weights);
  return weights;
}

std::vector<double> ExactTheory::truncated(int chunk) const {
  CB_CHECK(chunk >= 1);
  std::vector<double> reached = {1.0};  // probability of every prefix of the current length
  for (int t = 0; t < model_.horizon(); t += chunk) {
    const int length = std::min(chunk, model_.horizon() - t);
    std::vector<double> next;
    model_.each_sequence(t, [&](std::span<const TokenId> prefix) {
      std::vector<double> policy = chunk_weights(prefix, length);
      normalise(policy);
      for (double probability : policy) next.push_back(reached[model_.index(prefix)] * probability);
    });
    reached = std::move(next);
  }
  return reached;
}

std::vector<double> ExactTheory::decomposed() const {
  std::vector<double> reached = {1.0};
  for (int t = 0; t < model_.horizon(); ++t) {
    std::vector<double> next;
    model_.each_sequence(t, [&](std::span<const TokenId> prefix) {
      std::vector<double> policy = chunk_weights(prefix, 1);
      for (std::size_t v = 0; v < policy.size(); ++v) {
        const TokenId token = static_cast<TokenId>(v);
        policy[v] *= zeta(joined(prefix, std::span(&token, 1)));
      }
      normalise(policy);
      for (double probability : policy) next.push_back(reached[model_.index(prefix)] * probability);
    });
    reached = std::move(next);
  }
  return reached;
}

double ExactTheory::worst_step(int t, int chunk) const {
  const int length = std::min(chunk, model_.horizon() - t);
  double worst = 0;
  model_.each_sequence(t, [&](std::span<const TokenId> prefix) {
    std::vector<double> policy = chunk_weights(prefix, length);
    std::vector<double> exact = policy;
    std::size_t place = 0;
    model_.each_sequence(length, [&](std::span<const TokenId> next) {
      exact[place++] *= zeta(joined(prefix, next));
    });
    normalise(policy);
    normalise(exact);
    worst = std::max(worst, total_variation(policy, exact));
  });
  return worst;
}

double total_variation(std::span<const double> p, std::span<const double> q) {
  CB_CHECK(p.size() == q.size());
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += std::abs(p[i] - q[i]);
  return sum / 2;
}

}  // namespace counterbeam
