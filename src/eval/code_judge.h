// Judges a Python program by a HumanEval-like test. Two confined interpreters are used: one runs
// the program, the other the test. The test's `candidate` is a stub that sends plain values to the
// program and rebuilds plain values from its reply. The program has no access to the test, its
// frames or the verdict pipe, so that it can pass only by returning correct results.
#pragma once

#include <memory>
#include <semaphore>
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
  Fail,     // an assertion of the test failed
  Error,    // an exception, a syntax error, no such function, an early exit
  Timeout,  // out of time (eval/sandbox_clock.h)
  Memory,   // out of memory
  Killed,   // by a signal, or for too much output
};

std::string_view to_string(CodeState state);  // "pass", "fail", ...

struct CodeVerdict {
  CodeState state = CodeState::Error;
  std::string detail;  // one line: the assertion, exception or limit; empty for a pass
  double seconds = 0;
};

class CodeJudge {
 public:
  // Throws an Error that says what to install if programs cannot be confined.
  explicit CodeJudge(SandboxLimits limits = {});

  // `program` is a complete module that defines problem.entry_point; it may use the imports and
  // helpers of the prompt. Throws BadInput if the prompt or the test itself cannot be run, and
  // Failed if the sandbox cannot be started, after some attempts, or the machine is too busy: a
  // fault of the machine is never a verdict. Thread-safe; as many judgements run at once as the
  // machine has memory, descriptors and processes for, and the others wait.
  CodeVerdict judge(const CodeProblem& problem, const std::string& program) const;

 private:
  using Slots = std::counting_semaphore<>;

  Sandbox sandbox_;
  std::unique_ptr<Slots> slots_;
};

// How many judgements may run at once, so that all of them together, each at its limits, use at
// most half of the available memory, and of the descriptors and processes that we may have.
int judgements_at_once(const SandboxLimits& limits);

}  // namespace counterbeam
