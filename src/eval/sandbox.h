// Runs untrusted Python programs. Each runs in its own process under bubblewrap: a read-only file
// system with nothing but the interpreter, a small private /tmp, no network, separate pid, user,
// ipc, uts and cgroup namespaces, no capabilities, hard resource limits and a system call filter.
// Invariant: no program runs unconfined, and destroying a ConfinedProcess ends everything it
// started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eval/sandbox_limits.h"
#include "eval/sandbox_process.h"

namespace counterbeam {

// How a program run by Sandbox::run ended.
struct SandboxRun {
  enum class Ending { Exited, Signalled, TimedOut, TooMuchOutput };
  Ending ending = Ending::Exited;
  int code = 0;        // exit status, or the signal's number
  std::string output;  // the first 64 KiB of standard output and error
  double seconds = 0;  // wall clock
};

class Sandbox {
 public:
  // Why programs cannot be confined on this machine and what to do about it; empty if they can. The
  // first call runs a small confined program that checks what it can access; the result is cached.
  static const std::string& check();

  // Throws an Error with the message of check(), if there is one, or if the limits of the machine
  // are below those of programs (check_limits).
  explicit Sandbox(SandboxLimits limits = {});

  // Starts a confined Python script, if the limits of the machine still allow it. `input` becomes
  // its standard input (-1: empty) and channels[i] its descriptor 3 + i. They must come from
  // make_pipe or make_memory_file; the caller closes its own copies. The caller enforces the limits
  // on wall-clock time and output.
  ConfinedProcess start(const std::string& script, int input,
                        const std::vector<int>& channels) const;

  // Runs a script to completion under all limits.
  SandboxRun run(const std::string& script) const;

  const SandboxLimits& limits() const { return limits_; }

 private:
  SandboxLimits limits_;
};

}  // namespace counterbeam
