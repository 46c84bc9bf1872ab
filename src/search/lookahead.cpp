#include "search/lookahead.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace counterbeam {

double log_mean_exp(const std::vector<double>& x) {
  CB_CHECK(!x.empty());
  const double top = *std::max_element(x.begin(), x.end());
  if (!std::isfinite(top)) return top;
  double sum = 0;
  for (double value : x) sum += std::exp(value - top);
  return top + std::log(sum / static_cast<double>(x.size()));
}

void add_future_correction(const Task& task, std::vector<Beam>& candidates,
                           const Settings& settings, int block, Ledger& ledger) {
  if (!task.prompts.contrast() || candidates.empty()) return;  // zeta = 1
  const auto rollouts = static_cast<std::size_t>(settings.lookahead);
  const int limit = answer_limit(task, settings);
  std::vector<Beam> futures;
  std::vector<std::uint32_t> places;  // beyond those of the beams: rollouts draw for themselves
  for (const Beam& candidate : candidates)
    for (std::size_t m = 0; m < rollouts; ++m) {
      places.push_back(static_cast<std::uint32_t>(settings.beams) +
                       static_cast<std::uint32_t>(futures.size()));
      futures.push_back(candidate.fork());
    }
  Settings sampling = settings;
  sampling.temperature = sampling.top_p = 1;
  sampling.top_k = 0;
  sampling.min_p = 0;
  const int horizon =
      std::min<int>(settings.horizon, limit - static_cast<int>(candidates[0].tokens.size()));
  extend_beams(task, futures, horizon, sampling, static_cast<std::uint32_t>(block), ledger, places);
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    std::vector<double> log_weights;
    for (std::size_t m = 0; m < rollouts; ++m) {
      const Beam& future = futures[c * rollouts + m];
      log_weights.push_back(settings.steer * (future.sums.reward() - candidates[c].sums.reward()));
    }
    candidates[c].rank +=
        aggregated(log_mean_exp(log_weights), candidates[c].sums.tokens, aggregate_of(settings));
  }
}

}  // namespace counterbeam
