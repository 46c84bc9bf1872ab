// The theory of a toy model as a table: how far each truncated policy is from the target, and the
// bounds it must stay under.
#pragma once

#include <vector>

#include "theory/exact.h"

namespace counterbeam {

struct TruncationRow {
  int chunk = 1;        // K; 1 is the naive per-token policy
  double distance = 0;  // total variation to the target, over whole answers
  double trajectory_bound = 0;
  double closed_form = 0;
  double worst_step = 0;  // over all scoring points and prefixes
  double step_bound = 0;  // at the first scoring point, where it is largest
  bool holds = false;     // no distance above its bound, at any scoring point
};

// One row per chunk length 1 .. horizon.
std::vector<TruncationRow> truncation_table(const ExactTheory& theory, bool balanced);

}  // namespace counterbeam
