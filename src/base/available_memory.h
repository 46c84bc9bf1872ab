// How much memory this process may still use.
#pragma once

#include <cstdint>
#include <string>

namespace counterbeam {

// Bytes that are available without swapping: what the machine has, or what the control groups leave
// if that is less; 4 GiB if the system does not say. `root` is put before the paths of system
// files, for tests.
std::int64_t available_memory(const std::string& root = "");

}  // namespace counterbeam
