// What is checked before the first search of an evaluation.
#pragma once

#include <cstdint>
#include <vector>

#include "eval/jobs.h"

namespace counterbeam {

// Throws an Error that names the weight if the model has one that is NaN or infinite, unless
// failures are allowed: what comes of it may be finite and look like an answer.
void refuse_damaged_weights(const LoadedModel& model, bool allow_failures);

// Renders every prompt that the jobs will use, each once, and returns the tokens of the longest.
// Throws an Error that names the task, the problem and the method of a prompt that cannot be
// rendered. A prompt that is too long for the model is not an error here.
std::int64_t render_all_prompts(const LoadedModel& model, const std::vector<Job>& jobs);

}  // namespace counterbeam
