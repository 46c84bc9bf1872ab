#include "base/available_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "base/control_group.h"

namespace counterbeam {
namespace {

std::int64_t available_on_the_machine(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  std::string key, unit;
  for (std::int64_t kibibytes; file >> key >> kibibytes >> unit;)
    if (key == "MemAvailable:") return kibibytes * 1024;
  return std::int64_t{4} << 30;
}

}  // namespace

std::int64_t available_memory(const std::string& root) {
  const std::int64_t machine = available_on_the_machine(root);
  return std::min(machine, left_by_control_groups(GroupResource::Memory, root).value_or(machine));
}

}  // namespace counterbeam
