// The one exception of the project. It is thrown for bad input and failed I/O, its message says
// what is wrong, where, and what to do; it is caught in main, at the server's edge and where one
// request among many may fail alone. Broken invariants do not throw: they stop the program (check).
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace counterbeam {

enum class ErrorKind {
  BadInput,   // the user can mend it: a file, a flag, a request (exit code 2)
  Failed,     // the machine could not do it: disk full, out of memory, no device (exit code 1)
  Cancelled,  // somebody asked to stop
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// bad_input("{}: dtype \"{}\" is not known", path, name)
template <typename... Args>
[[noreturn]] void bad_input(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::BadInput, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[noreturn]] void failed(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::Failed, fmt::format(format, std::forward<Args>(args)...));
}

// Stops the program with file and line when an invariant is broken, in release builds too.
[[noreturn]] void broken_invariant(const char* condition, const char* file, int line);

#define CB_CHECK(condition)           \
  ((condition) ? static_cast<void>(0) \
               : ::counterbeam::broken_invariant(#condition, __FILE__, __LINE__))

}  // namespace counterbeam
