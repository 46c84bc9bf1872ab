// The figures of an experiment, as the paper draws them: accuracy over the block size, bars of
// context pairs with beam search as baseline, pass@k with bands, accuracy against tokens and
// seconds; for the other experiments accuracies with their intervals. Published figures are hollow
// diamonds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "eval/published.h"
#include "eval/summary.h"

namespace counterbeam {

struct Figure {
  std::string name;  // of a file, without extension: "block-size-tiny-math"
  std::string title;
  std::string svg;
};

// `experiment`: a name of presets(), or empty for any other evaluation. One figure per task, or one
// for all tasks where lines of tasks fit into one. Seconds are drawn where they were measured.
std::vector<Figure> figures_of(std::string_view experiment, const EvalSummary& summary,
                               const PublishedTable& published);

}  // namespace counterbeam
