// What a text votes for in self-consistency, and when two votes are for the same answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "grade/extract.h"

namespace counterbeam {

// The final mathematical answer of a text; nothing where none is found.
std::optional<std::string> math_vote(std::string_view text,
                                     Extraction extraction = Extraction::Strict);

// Whether two such votes have the same value (1/2, 2/4 and 0.5), as the grader compares them.
bool same_math_vote(std::string_view a, std::string_view b);

}  // namespace counterbeam
