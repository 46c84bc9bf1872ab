#include "theory/power_toy.h"

#include <cmath>

namespace counterbeam {
namespace {

std::vector<double> normalised(std::vector<double> weights) {
  double sum = 0;
  for (double weight : weights) sum += weight;
  for (double& weight : weights) weight /= sum;
  return weights;
}

}  // namespace

std::vector<double> power_distribution(const ToyModel& model, double alpha) {
  std::vector<double> weights;
  model.each_sequence(model.horizon(), [&](std::span<const TokenId> answer) {
    double weight = 1;
    for (std::size_t i = 0; i < answer.size(); ++i)
      weight *= std::pow(model.probabilities(ToyContext::Base,
                                             answer.first(i))[static_cast<std::size_t>(answer[i])],
                         alpha);
    weights.push_back(weight);
  });
  return normalised(std::move(weights));
}

double power_zeta(const ToyModel& model, std::vector<TokenId> prefix, double alpha) {
  if (static_cast<int>(prefix.size()) == model.horizon()) return 1;
  const auto next = model.probabilities(ToyContext::Base, prefix);
  double sum = 0;
  prefix.push_back(0);
  for (std::size_t v = 0; v < next.size(); ++v) {
    prefix.back() = static_cast<TokenId>(v);
    sum += std::pow(next[v], alpha) * power_zeta(model, prefix, alpha);
  }
  return sum;
}

std::vector<double> power_first_token(const ToyModel& model, double alpha) {
  std::vector<double> weights;
  const auto first = model.probabilities(ToyContext::Base, {});
  for (std::size_t v = 0; v < first.size(); ++v)
    weights.push_back(std::pow(first[v], alpha) *
                      power_zeta(model, {static_cast<TokenId>(v)}, alpha));
  return normalised(std::move(weights));
}

std::vector<double> low_temperature_first_token(const ToyModel& model, double alpha) {
  std::vector<double> weights;
  for (double p : model.probabilities(ToyContext::Base, {})) weights.push_back(std::pow(p, alpha));
  return normalised(std::move(weights));
}

ToyModel plan_or_guess() {
  ToyModel model(2, 2);
  const auto set = [&](std::vector<TokenId> prefix, double first, double second) {
    const auto row = model.probabilities(ToyContext::Base, prefix);
    row[0] = first;
    row[1] = second;
  };
  set({}, 0.4, 0.6);
  set({0}, 0.95, 0.05);
  set({1}, 0.55, 0.45);
  return model;
}

}  // namespace counterbeam
