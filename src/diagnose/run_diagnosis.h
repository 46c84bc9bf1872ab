// Runs a diagnosis: probes and grades the first questions of a task, many at once on one engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnose/diagnosis.h"
#include "eval/tasks.h"
#include "search/loaded_model.h"

namespace counterbeam {

struct DiagnoseOptions {
  DiagnosisSettings settings;
  int limit = 0;               // only the first problems of a task; 0: all
  int rollout_questions = 16;  // how many of them are probed for the future correction
  int concurrency = 16;        // questions at once
  std::uint64_t seed = 0;
  bool quiet = false;
  bool allow_failures = false;  // go on if the first problem of a task fails
  const Cancellation* cancellation = nullptr;
};

// One diagnosis per task. All prompts are rendered first: one that cannot be is an error that names
// the problem, and nothing is run; so are weights that are NaN or infinite, unless failures are
// allowed. A question counts only if all its answers were drawn, read and
// graded; one that fails is listed in `failures`. If it is the first problem of its task, the run
// ends with its error unless failures are allowed. Error where every question of a task fails.
// Throws a Cancelled error if cancelled. The result depends on nothing but model, tasks, options
// and seed: not on the concurrency.
std::vector<TaskDiagnosis> run_diagnosis(const LoadedModel& model,
                                         const std::vector<TaskData>& tasks,
                                         const DiagnoseOptions& options);

}  // namespace counterbeam
