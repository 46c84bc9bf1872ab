// The Python of the two confined interpreters of a judgement.
#pragma once

#include <string>

namespace counterbeam {

// Holds the program: reads it from descriptor 3, then answers calls until it is killed; replies go
// to descriptor 4.
const std::string& program_script();

// Holds the test: reads prompt, test, entry point and program from standard input, talks to the
// program by 3 (replies) and 4 (requests), and writes the verdict to 5: a state, a newline, detail.
const std::string& test_script();

}  // namespace counterbeam
