// Whether two answers say the same. Each answer is read (in more than one way where its commas
// allow it) and compared kind by kind; docs/grading.md lists what counts as equal.
#pragma once

#include <string_view>

namespace counterbeam::grade {

// Two bare answers: no prose around them, no box.
bool same_answer(std::string_view gold, std::string_view pred);

}  // namespace counterbeam::grade
