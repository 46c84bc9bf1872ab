#include "diagnose/describe.h"

#include "base/json.h"
#include "eval/provenance.h"

namespace counterbeam {

Json describe_diagnosis(const LoadedModel& model, const std::vector<TaskData>& tasks,
                        const DiagnoseOptions& options, const RunSession& session) {
  EvalOptions as_eval;
  as_eval.seed = options.seed;
  as_eval.concurrency = options.concurrency;
  as_eval.session = session;
  Json run = describe_run(model, tasks, as_eval, 0);
  for (const char* field : {"format", "experiment", "needed_sequence", "methods", "parts"})
    run.erase(field);
  const ProbeSettings& probe = options.settings.probe;
  run["settings"] = {{"limit", options.limit},
                     {"samples", probe.samples},
                     {"steers", options.settings.steers},
                     {"block", probe.block},
                     {"max_tokens", probe.max_tokens},
                     {"rollouts", probe.rollouts},
                     {"siblings", probe.siblings},
                     {"rollout_problems", options.rollout_questions}};
  return run;
}

}  // namespace counterbeam
