// The error of a file that cannot be opened: BadInput if it is absent or may not be read, which
// some callers accept, and Failed if the machine is at fault.
#pragma once

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace counterbeam {

// Throws. `reason` is the errno of open().
[[noreturn]] inline void refuse_opening(const std::filesystem::path& path, int reason) {
  const bool machine = reason == EMFILE || reason == ENFILE || reason == ENOMEM || reason == EIO;
  throw_error(machine ? ErrorKind::Failed : ErrorKind::BadInput,
              fmt::format("{}: cannot be opened: {}", path.string(), std::strerror(reason)));
}

}  // namespace counterbeam
