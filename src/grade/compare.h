// Whether two answers are equal. Each answer is parsed, in several ways if its commas are
// ambiguous, and compared according to its kind. docs/grading.md lists what counts as equal.
#pragma once

#include <string_view>

namespace counterbeam::grade {

// REQUIRES: bare answers without prose or a box
bool same_answer(std::string_view gold, std::string_view pred);

}  // namespace counterbeam::grade
