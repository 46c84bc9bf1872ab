// Where a diagnosis comes from: the "run" of diagnose.json.
#pragma once

#include <vector>

#include "base/json_fwd.h"
#include "diagnose/run_diagnosis.h"
#include "eval/run.h"

namespace counterbeam {

// Model with its fingerprint, device, seed, tasks, settings and the session, named as in run.json.
Json describe_diagnosis(const LoadedModel& model, const std::vector<TaskData>& tasks,
                        const DiagnoseOptions& options, const RunSession& session);

}  // namespace counterbeam
