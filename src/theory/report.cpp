#include "theory/report.h"

#include <algorithm>

#include "theory/bounds.h"

namespace counterbeam {
namespace {

constexpr double kRounding = 1e-12;

}  // namespace

std::vector<TruncationRow> truncation_table(const ExactTheory& theory, bool balanced) {
  const int horizon = theory.model().horizon();
  const std::vector<double> target = theory.target();
  std::vector<TruncationRow> rows;
  for (int chunk = 1; chunk <= horizon; ++chunk) {
    const TruncationBounds bounds{horizon, chunk, theory.largest_reward(), theory.steer(),
                                  balanced};
    TruncationRow row;
    row.chunk = chunk;
    row.distance = total_variation(target, theory.truncated(chunk));
    row.trajectory_bound = bounds.trajectory();
    row.closed_form = bounds.closed_form();
    row.step_bound = bounds.step(0);
    row.holds = row.distance <= row.trajectory_bound + kRounding;
    for (int t = 0; t < horizon; t += chunk) {
      const double step = theory.worst_step(t, chunk);
      row.worst_step = std::max(row.worst_step, step);
      row.holds = row.holds && step <= bounds.step(t) + kRounding;
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace counterbeam
