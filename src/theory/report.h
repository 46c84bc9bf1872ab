// The theory of a toy model as a table: the distance of each truncated policy from the target, and
// its bounds.
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
  bool holds = false;     // every distance is within its bound, at every scoring point
};

// One row per chunk length 1 .. horizon.
std::vector<TruncationRow> truncation_table(const ExactTheory& theory, bool balanced);

}  // namespace counterbeam
