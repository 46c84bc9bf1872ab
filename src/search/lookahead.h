// Monte-Carlo look-ahead: what the score of a partial answer leaves out is how much reward its
// futures hold. The target's weight of a prefix is pi(a) exp(R(a)/alpha) zeta(a), with zeta the
// mean of exp(R(future)/alpha) over futures drawn from pi. Dividing the logarithm of that by |a|,
// as the score does, a candidate is ranked by
//     s(a) + log(zeta^(a)) / |a|,    zeta^ = the mean over M rollouts of H tokens at temperature 1;
// where answers are ranked by sums, nothing is divided.
#pragma once

#include <vector>

#include "search/beams.h"

namespace counterbeam {

// Adds log(zeta^)/|a|, or log(zeta^) for sums, to the rank of every candidate.
void add_future_correction(const Task& task, std::vector<Beam>& candidates,
                           const Settings& settings, int block, Ledger& ledger);

// log of the mean of exp(x). REQUIRES a non-empty list.
double log_mean_exp(const std::vector<double>& x);

}  // namespace counterbeam
