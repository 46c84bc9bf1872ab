// The Python scripts of the two confined interpreters of a judgement.
#pragma once

#include <string>

namespace counterbeam {

// Runs the program: reads it and then calls from descriptor 3, and replies on descriptor 4 until it
// is killed.
const std::string& program_script();

// Runs the test: reads prompt, test, entry point and program from standard input, exchanges
// requests (descriptor 4) and replies (3) with the program, and writes to 5: "started" and a
// newline once both interpreters work and before the program is loaded, then the verdict: a state,
// a newline, the detail.
const std::string& test_script();

}  // namespace counterbeam
