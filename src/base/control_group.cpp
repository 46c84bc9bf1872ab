#include "base/control_group.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace counterbeam {
namespace {

// The files of one resource in the folder of a group.
struct GroupFiles {
  std::vector<const char*> limits;
  const char* used = nullptr;
  std::vector<std::string> droppable;  // lines of memory.stat
};

GroupFiles files_of(GroupResource resource, bool first_version) {
  if (resource == GroupResource::Processes) return {{"pids.max"}, "pids.current", {}};
  if (first_version)
    return {{"memory.limit_in_bytes"},
            "memory.usage_in_bytes",
            {"total_active_file", "total_inactive_file"}};
  return {{"memory.max", "memory.high"}, "memory.current", {"active_file", "inactive_file"}};
}

// None: there is no such file, or it holds no number ("max").
std::optional<std::int64_t> number_in(const std::string& path) {
  std::int64_t number = 0;
  if (std::ifstream(path) >> number) return number;
  return std::nullopt;
}

std::int64_t sum_of_lines(const std::string& path, const std::vector<std::string>& names) {
  std::ifstream file(path);
  std::string name;
  std::int64_t sum = 0;
  for (std::int64_t value; file >> name >> value;)
    if (std::find(names.begin(), names.end(), name) != names.end()) sum += value;
  return sum;
}

// A group in a hierarchy of groups, which is mounted at `top`. Paths are strings, because copying a
// std::filesystem::path leaves it damaged if memory runs out.
struct PlacedGroup {
  std::string top, path;  // the path begins with a slash; empty for the top
  bool first_version = false;
};

// "4:memory:/a/b" in version 1, "0::/a/b" in version 2; groups outside of what a container sees
// begin with "/..".
void add_groups(const std::string& line, const std::string& mounts, const std::string& controller,
                std::vector<PlacedGroup>& groups) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
  if (second == line.npos) return;
  const std::string controllers = line.substr(first + 1, second - first - 1);
  const std::string path = line.substr(second + 1);
  if (!path.starts_with('/') || (path + "/").find("/../") != path.npos) return;
  if (controllers.empty()) {
    groups.push_back({mounts, path, false});
    groups.push_back({mounts + "/unified", path, false});  // beside version 1
  } else if (("," + controllers + ",").find("," + controller + ",") != std::string::npos) {
    groups.push_back({mounts + "/" + controllers, path, true});
    groups.push_back({mounts + "/" + controller, path, true});
  }
}

std::optional<std::int64_t> left_by(const std::string& folder, const GroupFiles& files) {
  const auto used = number_in(folder + files.used);
  if (!used) return std::nullopt;
  std::optional<std::int64_t> limit;
  for (const char* name : files.limits)
    if (const auto number = number_in(folder + name))
      limit = std::min(limit.value_or(*number), *number);
  if (!limit) return std::nullopt;
  const std::int64_t droppable =
      files.droppable.empty() ? 0 : sum_of_lines(folder + "memory.stat", files.droppable);
  return std::max<std::int64_t>(*limit - std::max<std::int64_t>(*used - droppable, 0), 0);
}

}  // namespace

std::optional<std::int64_t> left_by_control_groups(GroupResource resource,
                                                   const std::string& root) {
  const std::string controller = resource == GroupResource::Memory ? "memory" : "pids";
  const std::string mounts = root + "/sys/fs/cgroup";
  std::vector<PlacedGroup> groups = {{mounts, "", false}, {mounts + "/" + controller, "", true}};
  std::ifstream own(root + "/proc/self/cgroup");
  for (std::string line; std::getline(own, line);) add_groups(line, mounts, controller, groups);

  std::optional<std::int64_t> least;
  for (const PlacedGroup& group : groups) {
    const GroupFiles files = files_of(resource, group.first_version);
    for (std::string path = group.path;; path.resize(path.rfind('/'))) {
      if (const auto left = left_by(group.top + path + "/", files))
        least = std::min(least.value_or(*left), *left);
      if (path.empty()) break;
    }
  }
  return least;
}

}  // namespace counterbeam
