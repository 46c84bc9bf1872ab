#include "eval/sandbox_clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

namespace counterbeam {
namespace {

// The content of a small file of /proc, in `buffer`; empty if it cannot be read.
const char* proc_text(const char* path, char* buffer, std::size_t size) {
  buffer[0] = '\0';
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return buffer;
  const ssize_t got = ::read(file, buffer, size - 1);
  ::close(file);
  buffer[std::max<ssize_t>(got, 0)] = '\0';
  return buffer;
}

int first_child(int parent) {
  char path[64], text[256];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/children", parent, parent);
  int child = -1;
  return std::sscanf(proc_text(path, text, sizeof text), "%d", &child) == 1 ? child : -1;
}

struct ProcessorUse {
  char state = '?';    // R: runs or would like to; D: waits for the disk; S: sleeps
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
  for (const int parent : parents) programs_.push_back({parent, -1, 0});
}

void ProgramClock::tick() {
  const Clock::time_point now = Clock::now();
  const double passed = std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  const double most = 2 * std::chrono::duration<double>(kTick).count();
  const double here = std::min(passed, most);  // more means that we did not run
  double processor = 0;
  bool busy = false;
  for (Program& program : programs_) {
    if (program.pid < 0 && program.parent > 0) program.pid = first_child(program.parent);
    if (program.pid < 0) continue;
    const ProcessorUse use = processor_use(program.pid);
    busy |= use.state == 'R' || use.state == 'D';
    processor += std::max(use.seconds - program.processor_seconds, 0.0);
    program.processor_seconds = std::max(use.seconds, program.processor_seconds);
  }
  present_ += here;
  counted_ += busy ? processor : std::max(here, processor);
}

}  // namespace counterbeam
