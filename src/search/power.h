// The estimate behind scalable power sampling: which of a few candidate chunks to append so that
// whole answers follow p^alpha, from rollouts that estimate each candidate's future.
#pragma once

#include <vector>

namespace counterbeam {

// All in log space.
struct PowerCandidate {
  double log_weight = 0;                // alpha * log p(candidate)
  std::vector<double> rollout_weights;  // log of p(rollout)^alpha / q(rollout), one per rollout
};

// Probability of each candidate: p^alpha times the mean rollout weight, normalised. With the
// jackknife the bias of that ratio is reduced: M p^ - (M-1)/M * sum of the leave-one-out estimates,
// clipped at 0 and renormalised. REQUIRES at least one candidate, and as many rollouts for each.
std::vector<double> power_probabilities(const std::vector<PowerCandidate>& candidates,
                                        bool jackknife);

}  // namespace counterbeam
