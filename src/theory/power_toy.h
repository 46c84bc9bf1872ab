// Exact power sampling: the distribution p^alpha over the answers of a toy model (base tables
// only), its first-token marginal, and the two-step example of Ji et al., whose figures are
// published.
#pragma once

#include <vector>

#include "theory/toy_model.h"

namespace counterbeam {

// p(a)^alpha / Z over all answers, in lexicographic order.
std::vector<double> power_distribution(const ToyModel& model, double alpha);

// The expectation of p(future)^(alpha - 1) over continuations of a prefix drawn from p.
double power_zeta(const ToyModel& model, std::vector<TokenId> prefix, double alpha);

// The distribution of the first token under p^alpha.
std::vector<double> power_first_token(const ToyModel& model, double alpha);

// The distribution of the first token if every step is sharpened separately: p(x)^alpha / sum.
std::vector<double> low_temperature_first_token(const ToyModel& model, double alpha);

// The example of Ji et al.: PLAN (.4, then .95/.05) or GUESS (.6, then .55/.45).
ToyModel plan_or_guess();

}  // namespace counterbeam
