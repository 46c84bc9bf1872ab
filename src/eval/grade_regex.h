// The grader of patterns: an answer is right if a regular expression matches in it. Time is
// bounded: a pattern that needs too many steps is an error, never a wrong answer.
#pragma once

#include <string>
#include <string_view>

#include "grade/grade.h"

namespace counterbeam {

// Throws an Error that starts with `place` if the pattern cannot be read.
void check_pattern(const std::string& pattern, const std::string& place);

// The pattern is looked for in the whole completion after its thinking; `extracted` is what the
// first match covers. Throws an Error if the pattern cannot be read or needs too many steps.
Verdict grade_regex(const std::string& pattern, std::string_view pred,
                    Extraction extraction = Extraction::Strict);

}  // namespace counterbeam
