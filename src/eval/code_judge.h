// Judges a Python program by a HumanEval-like test. Two confined interpreters take part: one holds
// the program, the other the test. The test's `candidate` is a stub that sends plain values to the
// program and rebuilds plain values from its reply; the program never sees the test, its frames or
// the pipe the verdict is written to, so the only way to pass is to answer rightly.
#pragma once

#include <string>
#include <string_view>

#include "eval/sandbox.h"

namespace counterbeam {

// The fields of a HumanEval row that a verdict needs.
struct CodeProblem {
  std::string prompt;       // imports, helpers, signature and docstring
  std::string test;         // defines check(candidate)
  std::string entry_point;  // the function under test
};

enum class CodeState {
  Pass,
  Fail,     // an assertion of the test does not hold
  Error,    // an exception, a syntax error, no such function, an early exit
  Timeout,  // wall clock or processor time used up
  Memory,   // out of its address space
  Killed,   // by a signal, or for too much output
};

std::string_view to_string(CodeState state);  // "pass", "fail", ...

struct CodeVerdict {
  CodeState state = CodeState::Error;
  std::string detail;  // one line: the assertion, the exception, the limit; empty for a pass
  double seconds = 0;
};

class CodeJudge {
 public:
  // Throws Error, saying what to install, where programs cannot be confined.
  explicit CodeJudge(SandboxLimits limits = {});

  // `program` is a whole module that defines problem.entry_point; the prompt's imports and helpers
  // are there for it to use. Throws Error when the prompt or the test itself cannot be run. Safe
  // to call from many threads at once.
  CodeVerdict judge(const CodeProblem& problem, const std::string& program) const;

 private:
  Sandbox sandbox_;
};

}  // namespace counterbeam
