// What the interpreter that runs the test reports about a program: a state, a line end, a detail.
// The report comes from a confined process, so any bytes may be in it; only the exact word of a
// state counts.
#pragma once

#include <string>
#include <string_view>

#include "eval/code_judge.h"

namespace counterbeam {

struct JudgeReport {
  enum class Kind {
    Verdict,
    Gone,      // the program's process ended, or closed its channel, before the test did
    Unusable,  // the prompt or the test itself cannot be run; the detail says why
    Missing,   // no known state: the test's process ended before it could report one
  };
  Kind kind = Kind::Verdict;
  CodeVerdict verdict{};  // without the time
};

// The verdict of a missing report is an error of the program. It holds only if the test's process
// was not killed from outside, which the caller must check.
JudgeReport read_report(std::string_view text);

}  // namespace counterbeam
