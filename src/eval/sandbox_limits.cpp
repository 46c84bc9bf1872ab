#include "eval/sandbox_limits.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "base/control_group.h"
#include "base/error.h"
#include "base/list_folder.h"
#include "eval/proc_text.h"
#include "eval/sandbox_process.h"

namespace counterbeam {
namespace {

constexpr rlim_t kHardProcessorTime = 4;  // times the soft limit
constexpr int kBesideThreads = 6;         // processes of a judgement
constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

rlim_t hard_limit(int resource) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return RLIM_INFINITY;
  return limit.rlim_max;
}

// The unit of a limit that programs are promised, and the shell's command for it; null for other
// limits.
const char* promise(int resource) {
  switch (resource) {
    case RLIMIT_AS:
      return "bytes of address space (ulimit -v)";
    case RLIMIT_DATA:
      return "bytes of data (ulimit -d)";
    case RLIMIT_CPU:
      return "seconds of processor time (ulimit -t)";
    case RLIMIT_FSIZE:
      return "bytes in a file (ulimit -f)";
    case RLIMIT_NOFILE:
      return "open files (ulimit -n)";
    case RLIMIT_STACK:
      return "bytes of stack (ulimit -s)";
  }
  return nullptr;
}

// Processes and threads of all users together: an upper bound of those of one.
std::int64_t all_tasks() {
  std::ifstream file("/proc/loadavg");
  std::string load;
  std::int64_t running = 0, all = kUnlimited;
  char slash = 0;
  file >> load >> load >> load >> running >> slash >> all;
  return file ? all : kUnlimited;
}

// The number after `name` in the text of a status file; 0 if there is none.
std::int64_t status_number(const char* text, const char* name) {
  const char* const found = std::strstr(text, name);
  return found == nullptr ? 0 : std::strtoll(found + std::strlen(name), nullptr, 10);
}

// Processes and threads of one user, as far as /proc shows them.
std::int64_t tasks_of(unsigned user) {
  std::int64_t count = 0;
  for (const std::filesystem::path& process : list_folder("/proc")) {
    if (std::isdigit(static_cast<unsigned char>(process.filename().c_str()[0])) == 0) continue;
    char text[4096];
    proc_text((process / "status").c_str(), text, sizeof text);
    if (text[0] != '\0' && status_number(text, "\nUid:") == user)
      count += status_number(text, "\nThreads:");
  }
  return count;
}

std::int64_t left_to_user(std::int64_t enough) {
  const rlim_t limit = hard_limit(RLIMIT_NPROC);
  if (limit == RLIM_INFINITY) return kUnlimited;
  const auto most = static_cast<std::int64_t>(std::min<rlim_t>(limit, kUnlimited));
  const std::int64_t surely = most - std::min(all_tasks(), most);
  if (surely >= enough) return surely;
  return most - std::min(tasks_of(sandbox_user()), most);
}

}  // namespace

std::vector<ResourceLimit> resource_limits(const SandboxLimits& limits) {
  const auto both = [](int resource, rlim_t value) {
    return ResourceLimit{resource, value, value};
  };
  // CPU time is limited too, because several threads can use more of it than wall-clock time. At
  // the soft limit SIGXCPU ends the program. The hard one, which sends SIGKILL, is for a program
  // that ignores SIGXCPU after Counterbeam has ended; it is so high that a running Counterbeam sees
  // the time run out first.
  const auto cpu_seconds = static_cast<rlim_t>(std::ceil(limits.wall_seconds)) + 1;
  // The limit on processes is only raised here: it counts all processes of the user. The script
  // lowers it inside, where it counts this namespace.
  return {both(RLIMIT_AS, limits.memory_bytes),
          both(RLIMIT_DATA, limits.memory_bytes),
          {RLIMIT_CPU, cpu_seconds, kHardProcessorTime * cpu_seconds},
          both(RLIMIT_FSIZE, limits.tmp_bytes),
          both(RLIMIT_NOFILE, static_cast<rlim_t>(limits.open_files)),
          both(RLIMIT_STACK, 8ull << 20),
          both(RLIMIT_NPROC, RLIM_INFINITY),
          both(RLIMIT_CORE, 0),
          both(RLIMIT_MEMLOCK, 0),
          both(RLIMIT_MSGQUEUE, 0)};
}

void check_limits(const SandboxLimits& limits) {
  for (const ResourceLimit& wanted : resource_limits(limits)) {
    const char* const what = promise(wanted.resource);
    const rlim_t most = hard_limit(wanted.resource);
    if (what != nullptr && most < wanted.hard)
      failed("sandbox: the hard limit is {} {}, and programs need {}; raise it", most, what,
             wanted.hard);
  }
  const std::int64_t wanted = processes_of_a_judgement(limits);
  const std::int64_t spare = spare_processes(wanted);
  if (spare < wanted)
    failed(
        "sandbox: {} more processes and threads are allowed, and a program and its test need {}; "
        "raise the limit on processes (ulimit -u, pids.max of the control group)",
        spare, wanted);
}

std::int64_t processes_of_a_judgement(const SandboxLimits& limits) {
  return kBesideThreads + limits.threads;
}

std::int64_t spare_processes(std::int64_t enough) {
  return std::min(left_to_user(enough),
                  left_by_control_groups(GroupResource::Processes).value_or(kUnlimited));
}

}  // namespace counterbeam
