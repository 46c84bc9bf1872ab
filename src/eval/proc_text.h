// Reads small files of /proc.
#pragma once

#include <cstddef>

namespace counterbeam {

// The beginning of the file, in `buffer`; empty if it cannot be read, as when its process has
// ended. Allocates nothing.
const char* proc_text(const char* path, char* buffer, std::size_t size);

}  // namespace counterbeam
