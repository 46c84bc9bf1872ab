// The output folder of an evaluation. One process at a time uses it, and run.json records
// what its samples depend on, so that a resumed run cannot mix models, settings or data.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "eval/run.h"

namespace counterbeam {

// Checks run.json against this run (eval/provenance.h), or writes it together with problems.jsonl.
// Throws Error if the folder has samples and the run does not resume, or if the two must not be
// mixed. REQUIRES: the caller holds the lock.
void claim_folder(const Json& run, const std::vector<TaskData>& tasks, const EvalOptions& options);

}  // namespace counterbeam
