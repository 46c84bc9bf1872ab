// Runs Python that nobody has read. A program gets a process of its own under bubblewrap: an empty
// read-only file system but for the interpreter, a small private /tmp, no network, its own pid,
// user, ipc, uts and cgroup namespaces, no capabilities, hard limits and a system call filter.
// Invariant: nothing runs unconfined, and when a ConfinedProcess is gone, so is everything it ran.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eval/sandbox_process.h"

namespace counterbeam {

struct SandboxLimits {
  double wall_seconds = 5.0;
  std::uint64_t memory_bytes = 1ull << 30;  // address space; a program has one process
  std::uint64_t tmp_bytes = 16ull << 20;    // its /tmp, and its largest file
  std::uint64_t output_bytes = 4ull << 20;  // standard output and error together
  int threads = 64;
  int open_files = 64;
};

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
  // Why programs cannot be confined on this machine and how to mend it; empty when they can. The
  // first call confines a small program and looks at what it could reach; the answer is kept.
  static const std::string& check();

  // Throws what check() says, if anything.
  explicit Sandbox(SandboxLimits limits = {});

  // Starts a Python script confined. `input` becomes its standard input (-1: empty) and
  // channels[i] its descriptor 3 + i; they come from make_pipe or make_memory_file, and the caller
  // keeps and closes its own copies. The wall clock
  // and the output limit are the caller's to watch.
  ConfinedProcess start(const std::string& script, int input,
                        const std::vector<int>& channels) const;

  // Runs a script to its end under all limits.
  SandboxRun run(const std::string& script) const;

  const SandboxLimits& limits() const { return limits_; }

 private:
  SandboxLimits limits_;
};

}  // namespace counterbeam
