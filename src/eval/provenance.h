// run.json: what the samples of a folder depend on. Two runs may share a folder, and shards may be
// merged, only if everything that changes answers or verdicts is the same. docs/evaluation.md has
// the table of what is compared.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "eval/run.h"

namespace counterbeam {

// Describes a run. `longest_prompt` is in tokens, over the prompts of this run. Dates, the command
// line and the number of searches in flight are left out of a deterministic run's description, so
// that two of them are equal byte for byte.
Json describe_run(const LoadedModel& model, const std::vector<TaskData>& tasks,
                  const EvalOptions& options, std::int64_t longest_prompt);

// `former` with what `now` adds: methods, tasks, parts and sessions. Throws an Error that lists
// every field that differs with both values and a remedy, if samples of the two may not be mixed.
// `refusal` opens the message.
Json joined_runs(const Json& former, const Json& now, const std::string& refusal);

// Reads run.json of a folder. Throws an Error with a remedy if it is absent, damaged, or was
// written by a version that did not record what answers depend on.
Json read_run(const std::filesystem::path& folder);

// A digest of everything that determines the prompts and the grading of a task.
std::string digest_of(const TaskData& task);

}  // namespace counterbeam
