// Power sampling, exactly: the distribution p^alpha over the answers of a toy model (base tables
// only), its first-token marginal, and the two-step toy of Ji et al. whose figures are published.
#pragma once

#include <vector>

#include "theory/toy_model.h"

namespace counterbeam {

// p(a)^alpha / Z over all answers, lexicographic.
std::vector<double> power_distribution(const ToyModel& model, double alpha);

// E over futures ~ p of p(future)^(alpha - 1), after a prefix.
double power_zeta(const ToyModel& model, std::vector<TokenId> prefix, double alpha);

// Of the first token under p^alpha.
std::vector<double> power_first_token(const ToyModel& model, double alpha);

// Of the first token when every single step is sharpened instead: p(x)^alpha / sum.
std::vector<double> low_temperature_first_token(const ToyModel& model, double alpha);

// PLAN (.4, then .95/.05) against GUESS (.6, then .55/.45).
ToyModel plan_or_guess();

}  // namespace counterbeam
