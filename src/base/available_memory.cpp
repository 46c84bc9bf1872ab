#include "base/available_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace counterbeam {
namespace {

// None: there is no such file, or it holds no number ("max").
std::optional<std::int64_t> number_in(const char* path) {
  std::int64_t number = 0;
  if (std::ifstream(path) >> number) return number;
  return std::nullopt;
}

// What the control group (version 2) leaves of its limit.
std::int64_t left_by_control_group() {
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return std::numeric_limits<std::int64_t>::max();
  return std::max<std::int64_t>(*limit - *used, 0);
}

}  // namespace

std::int64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  for (std::int64_t kibibytes; file >> key >> kibibytes >> unit;) {
    if (key == "MemAvailable:") return std::min(kibibytes * 1024, left_by_control_group());
  }
  return std::min(std::int64_t{4} << 30, left_by_control_group());
}

}  // namespace counterbeam
