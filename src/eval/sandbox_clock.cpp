#include "eval/sandbox_clock.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "eval/proc_text.h"

namespace counterbeam {
namespace {

// 0: it has none, or has itself ended. -1: this kernel does not say.
int first_child(int parent) {
  char path[64], text[256];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/children", parent, parent);
  int child = 0;
  if (std::sscanf(proc_text(path, text, sizeof text), "%d", &child) == 1) return child;
  if (::access(path, F_OK) == 0) return 0;
  std::snprintf(path, sizeof path, "/proc/%d", parent);
  return ::access(path, F_OK) == 0 ? -1 : 0;
}

struct ProcessorUse {
  char state = '?';    // R: runs or would like to; D: waits for the disk; T: stopped; S: sleeps;
                       // Z: a zombie; ?: gone
  double seconds = 0;  // of all its threads
};

ProcessorUse processor_use(int pid) {
  char path[64], text[1024];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  // The second field, the name in brackets, may hold anything.
  const char* rest = std::strrchr(proc_text(path, text, sizeof text), ')');
  ProcessorUse use;
  unsigned long user = 0, system = 0;
  if (rest == nullptr || std::sscanf(rest, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                                     &use.state, &user, &system) != 3)
    return {};
  use.seconds = static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return use;
}

}  // namespace

ProgramClock::ProgramClock(const std::vector<int>& parents) {
  for (const int parent : parents) {
    const int pid = parent > 0 ? first_child(parent) : -1;
    programs_.push_back({parent, pid, pid > 0 ? processor_use(pid).seconds : 0});
  }
}

void ProgramClock::tick() {
  const Clock::time_point now = Clock::now();
  const double passed = std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  const double most = 2 * std::chrono::duration<double>(kTick).count();
  const double here = std::min(passed, most);  // more means that we did not run
  double processor = 0;
  bool busy = false, sleeps = false;
  for (Program& program : programs_) {
    if (program.pid <= 0 && program.parent > 0) program.pid = first_child(program.parent);
    if (program.pid < 0) sleeps = true;
    if (program.pid <= 0) continue;
    const ProcessorUse use = processor_use(program.pid);
    if (std::strchr("RDTt", use.state) != nullptr)
      busy = true;
    else if (std::strchr("ZX?", use.state) == nullptr)  // it has not ended
      sleeps = true;
    processor += std::max(use.seconds - program.processor_seconds, 0.0);
    program.processor_seconds = std::max(use.seconds, program.processor_seconds);
  }
  present_ += here;
  counted_ += sleeps && !busy ? std::max(here, processor) : processor;
}

}  // namespace counterbeam
