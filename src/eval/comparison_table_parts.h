// What the tables of a comparison are made of. Used by eval/comparison_tables.cpp and
// eval/comparison_pair_tables.cpp; other code calls result_tables().
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "eval/comparison.h"
#include "eval/result_table.h"

namespace counterbeam {

// The summary of a model, of all its runs or of those of an experiment.
struct ModelSummary {
  std::string model;
  const EvalSummary* summary;
  const PublishedTable* published;
  const ComparedModel* sources = nullptr;

  std::vector<const TaskSummary*> columns() const {
    std::vector<const TaskSummary*> tasks;
    for (const TaskSummary& task : summary->tasks) tasks.push_back(&task);
    if (!summary->average.methods.empty()) tasks.push_back(&summary->average);
    return tasks;
  }
};

using ModelSummaries = std::vector<ModelSummary>;
using CellRow = std::vector<std::string>;

inline std::string all_digits(double value) {
  return fmt::format("{}", value);
}
inline std::string three_digits(double value) {
  return fmt::format("{:.3f}", value);
}
inline std::string with_interval(const Interval& interval) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", interval.mean, interval.low, interval.high);
}
inline std::string in_points(double difference) {
  return fmt::format("{:+.1f}", 100 * difference);
}
inline std::string p_text(double p) {
  return p < 0.0001 ? "<0.0001" : fmt::format("{:.2g}", p);
}
inline std::string test_name(const PairedTest& test) {
  return test.exact ? "McNemar exact" : "sign-flip permutation";
}

inline const MethodSummary* method_in(const TaskSummary& task, const std::string& name) {
  const auto found = std::find_if(task.methods.begin(), task.methods.end(),
                                  [&](const MethodSummary& one) { return one.method == name; });
  return found == task.methods.end() ? nullptr : &*found;
}

// Differences between methods: every pair in the CSV, those from the best method of each task in
// LaTeX, because the number of pairs grows with the square of the methods.
ResultTable differences_table(const ModelSummaries& models);
// Differences between models, per method and task.
ResultTable models_table(const Comparison& comparison);
ResultTable published_table(const Comparison& comparison);
ResultTable runs_table(const Comparison& comparison);

}  // namespace counterbeam
