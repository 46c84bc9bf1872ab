// The resources that confined programs get, and whether this machine can give them. A limit of the
// shell or of a control group below them would make right programs fail, so it is an error of the
// machine and never lowers what programs get.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <vector>

namespace counterbeam {

struct SandboxLimits {
  double wall_seconds = 5.0;
  std::uint64_t memory_bytes = 1ull << 30;  // address space of its single process
  std::uint64_t tmp_bytes = 16ull << 20;    // size of /tmp, and of its largest file
  std::uint64_t output_bytes = 4ull << 20;  // standard output and error together
  int threads = 64;
  int open_files = 64;
};

struct ResourceLimit {
  int resource = 0;  // RLIMIT_...
  rlim_t soft = 0, hard = 0;
};

// What a confined process sets for itself. Soft limits of ours below these are raised.
std::vector<ResourceLimit> resource_limits(const SandboxLimits& limits);

// Throws Failed, with the limit and what to do, if our hard limits, or the processes that our
// user or control groups may still start, are less than a judgement may use.
void check_limits(const SandboxLimits& limits);

// bwrap, the namespace's first process and Python, each twice, and the threads of the program.
std::int64_t processes_of_a_judgement(const SandboxLimits& limits);

// How many processes and threads a sandbox may still start under our hard limit and control
// groups. Counts those of its user, which takes a while, only if there may be fewer than `enough`.
std::int64_t spare_processes(std::int64_t enough);

}  // namespace counterbeam
