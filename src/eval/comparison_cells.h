// Which samples of a model's runs are shown. A task and method that several runs have is taken
// whole from one of them, so that its figures are those of that run.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "eval/comparison_names.h"
#include "eval/samples.h"

namespace counterbeam {

using CellKey = std::pair<std::string, std::string>;  // labels of task and method
using RowOf = std::function<std::string(const ReportedRun&, const std::string& method)>;

struct ShownSamples {
  std::vector<Sample> samples;             // tasks and methods have their labels
  std::map<CellKey, std::string> sources;  // the folder of the run that is shown
  std::vector<std::string> notes;          // runs that disagree on samples they have in common
};

// Of several runs with the same task and method the one with the most questions is shown, then with
// the most samples, then with measured seconds, then the first. REQUIRES: `runs` are of the model.
ShownSamples shown_samples(const ModelRuns& model, const std::vector<const ReportedRun*>& runs,
                           const RowOf& row_of);

}  // namespace counterbeam
