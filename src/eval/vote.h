// What self-consistency counts: two answers agree when their votes are the same text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "eval/tasks.h"

namespace counterbeam {

// Nothing where no answer is found.
std::optional<std::string> math_vote(std::string_view text);
// By how the task is judged: the answer, the letter, or the program.
std::optional<std::string> vote(const TaskData& task, const Problem& problem,
                                std::string_view text);

}  // namespace counterbeam
