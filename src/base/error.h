// Functions that throw the errors of counterbeam/error.h. Errors are caught in main, at the
// server's edge, and where one request of many may fail without the others. Broken invariants do
// not throw: CB_CHECK stops the program.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "counterbeam/error.h"

namespace counterbeam {

// Throws an error of that kind.
[[noreturn]] void throw_error(ErrorKind kind, const std::string& message);

// bad_input("{}: dtype \"{}\" is not known", path, name)
template <typename... Args>
[[noreturn]] void bad_input(fmt::format_string<Args...> format, Args&&... args) {
  throw BadInput(fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void failed(fmt::format_string<Args...> format, Args&&... args) {
  throw Failed(fmt::format(format, std::forward<Args>(args)...));
}

// Reports a broken invariant with its file and line, then aborts; in release builds too.
[[noreturn]] void broken_invariant(const char* condition, const char* file, int line);

#define CB_CHECK(condition)           \
  ((condition) ? static_cast<void>(0) \
               : ::counterbeam::broken_invariant(#condition, __FILE__, __LINE__))

}  // namespace counterbeam
