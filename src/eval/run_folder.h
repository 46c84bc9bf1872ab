// The output folder of an evaluation. One process at a time uses it, and run.json records
// what its samples depend on, so that a resumed run cannot mix models, settings or data.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "eval/run.h"

namespace counterbeam {

// Whether samples.jsonl there holds anything. Throws an Error that names the file if it is a
// folder, a device or a pipe, or cannot be opened.
bool has_samples(const std::filesystem::path& folder);

// Throws an Error that names the first of the files of a run that is there as a folder, a device or
// a FIFO, so that nothing is written beside it.
void check_run_files(const std::filesystem::path& folder);

// Checks run.json against this run (eval/provenance.h), or writes it together with problems.jsonl.
// Throws Error if the folder has samples and the run does not resume, or if the two must not be
// mixed. REQUIRES: the caller holds the lock.
void claim_folder(const Json& run, const std::vector<TaskData>& tasks, const EvalOptions& options);

}  // namespace counterbeam
