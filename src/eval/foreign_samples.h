// Samples that cannot be of the run in whose folder they are: its run.json does not ask for them,
// or one problem has two names. They would be counted among the others.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "eval/samples.h"

namespace counterbeam {

struct TaskData;

// Throws an Error that names the first such sample in `file`. `run` is its run.json, read from
// `place`. Nothing is refused after merge --partial, which keeps samples without a run.json.
void refuse_foreign_samples(const Json& run, const std::string& place,
                            const std::vector<Sample>& samples, const std::filesystem::path& file);

// The same for the samples of a folder that is about to be continued with these tasks, whose
// problems have known names.
void refuse_foreign_samples(const std::filesystem::path& folder,
                            const std::vector<TaskData>& tasks);

}  // namespace counterbeam
