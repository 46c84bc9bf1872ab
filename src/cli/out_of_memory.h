// The last resort when there is no memory: some code that we rely on cannot report that by an
// exception. GMP's functions cannot fail, and the destructor of a JSON value allocates. The program
// then ends with a line on standard error and exit code 1, like every other failure.
#pragma once

namespace counterbeam::cli {

inline constexpr const char* kOutOfMemory =
    "out of memory; close other programs, raise the limit (ulimit -v), or use a smaller model, "
    "fewer beams or less --cache-memory";

// Call it first in main.
void end_cleanly_without_memory();

}  // namespace counterbeam::cli
