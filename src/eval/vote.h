// The votes of self-consistency in an evaluation: the answer as the task's grader extracts it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "eval/tasks.h"

namespace counterbeam {

// The mathematical answer, the letter, the program or the text; empty if no answer is found.
std::optional<std::string> vote(const TaskData& task, const Problem& problem,
                                std::string_view text);

// Whether two votes count as one: mathematical answers by value, letters and programs by their
// text.
bool same_vote(const TaskData& task, std::string_view a, std::string_view b);

}  // namespace counterbeam
