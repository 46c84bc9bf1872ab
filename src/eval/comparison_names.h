// Groups the runs of a comparison, and names the groups: models with their weights, precision and
// device, tasks with their prompts, methods with their settings.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "eval/reported_run.h"

namespace counterbeam {

// A task of one model. `problems` identifies problems, prompts, golds and grading: tasks of two
// models can be paired if it is the same in both.
struct AskedTask {
  std::string label;  // the task's name; with the folder if the model was asked it in another way
  std::string name, problems, asking;
};

// Runs of one model with the same files, precision, device and seed.
struct ModelRuns {
  std::string label;
  std::vector<const ReportedRun*> runs;  // in the paper's order of experiments
  std::vector<AskedTask> tasks;

  const AskedTask& task_of(const ReportedRun& run, const std::string& task) const;
};

// REQUIRES: the runs outlive the result. Without run.json a run stands alone, under its folder.
std::vector<ModelRuns> group_by_model(const std::vector<ReportedRun>& runs);

// Rows of the table: methods with the same settings are one row, however they are spelled, and
// methods with the same text and other settings (by --max-tokens, or another version's defaults)
// are two.
class MethodRows {
 public:
  const std::string& label(const ReportedRun& run, const std::string& method);
  // By label: the settings on one line, as in RunFacts.
  const std::map<std::string, std::string>& settings() const { return settings_; }

 private:
  std::map<std::string, std::string> labels_;    // by settings
  std::map<std::string, std::string> settings_;  // by label
};

// The settings of a method of a run on one line; its text if it has none.
std::string settings_of(const ReportedRun& run, const std::string& method);

// A name for a file: lower-case letters, digits, dots and hyphens.
std::string file_name_of(std::string_view text);
// The same with a number if it is among `taken`, to which it is added.
std::string unused_file_name(std::string_view text, std::set<std::string>& taken);

}  // namespace counterbeam
