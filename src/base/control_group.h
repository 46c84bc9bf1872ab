// What the control groups of this process, of version 1 or 2, leave it of a resource.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace counterbeam {

enum class GroupResource {
  Memory,     // bytes; the pages of files, which the kernel can drop, are not counted as used
  Processes,  // and threads
};

// The least that our group or one above it leaves, 0 or more; none if no group has a limit. Our
// groups are those of /proc/self/cgroup. The top of every hierarchy under /sys/fs/cgroup counts
// too, because a container sees its own group there. `root` is put before these paths, for tests.
std::optional<std::int64_t> left_by_control_groups(GroupResource resource,
                                                   const std::string& root = "");

}  // namespace counterbeam
