// What `eval`, `reproduce` and `contexts search` have in common: tasks, data, how to run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/contexts_option.h"
#include "cli/globals.h"
#include "cli/shared_settings.h"
#include "cli/task_choice.h"
#include "eval/report.h"
#include "eval/run.h"

namespace counterbeam::cli {

struct EvalCommand {
  TaskChoice choice;
  std::vector<std::string> methods;  // lists and @FILEs as the user gave them
  ContextsOption contexts;
  SharedSettings shared;
  std::string shard = "0/1";
  std::optional<int> samples;  // in place of run.samples
  EvalOptions run;

  Option out_option();
  // Adds the options except tasks, methods and out. REQUIRES this to outlive the parse.
  void add_to(Command& command);
  // Loads, runs, writes the reports and prints the table. Ctrl-C keeps what is done. `experiment`
  // is the preset's name, or empty.
  void execute(const Globals& globals, const std::string& experiment);

  // The steps of it, for a command that runs several evaluations over one model.
  // Checks methods, settings and shard, and puts them into `run`.
  void resolve_methods();
  // REQUIRES: resolve_methods() was called.
  EvalSummary run_and_report(const LoadedModel& model, const std::vector<TaskData>& loaded,
                             const Globals& globals, const std::string& experiment);
  // The same without the reports.
  void run_samples(const LoadedModel& model, const std::vector<TaskData>& loaded,
                   const Globals& globals, const std::string& experiment);
  // The pieces of these, for commands that run something else on tasks.
  void add_tasks_to(Command& command);    // data, prompts, where answers stop
  void add_running_to(Command& command);  // samples, resuming, concurrency, failures
  // Sets what `run` takes from the global options; Ctrl-C cancels it from now on.
  void prepare_run(const Globals& globals);
  // Calls `work`; where Ctrl-C stopped it, the error says how to go on.
  void run_resumably(const std::function<void()>& work) const;
};

// The table, and the paper's figures beside ours if it has any; with --json both as an object.
void print_summary(const EvalSummary& summary, const std::filesystem::path& out,
                   const Globals& globals);

// Throws a Failed error if samples failed.
void refuse_failures(const EvalSummary& summary);

}  // namespace counterbeam::cli
