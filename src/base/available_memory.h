// How much memory this process may still use.
#pragma once

#include <cstdint>

namespace counterbeam {

// Bytes that are available without swapping, within the limit of the control group if there is one;
// 4 GiB if the system does not say.
std::int64_t available_memory();

}  // namespace counterbeam
