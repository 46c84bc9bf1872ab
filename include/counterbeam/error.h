// The errors that Counterbeam throws. Every message says what is wrong, where, and what to do.
#pragma once

#include <stdexcept>
#include <string>

namespace counterbeam {

enum class ErrorKind {
  BadInput,   // the user can correct it: a file, a flag, a request (exit code 2)
  Failed,     // the machine could not do it: disk full, out of memory, no device (exit code 1)
  Cancelled,  // the caller asked to stop
};

// Always one of the three types below.
class Error : public std::runtime_error {
 public:
  ErrorKind kind() const { return kind_; }

 protected:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

 private:
  ErrorKind kind_;
};

class BadInput : public Error {
 public:
  explicit BadInput(const std::string& message) : Error(ErrorKind::BadInput, message) {}
};

class Failed : public Error {
 public:
  explicit Failed(const std::string& message) : Error(ErrorKind::Failed, message) {}
};

class Cancelled : public Error {
 public:
  explicit Cancelled(const std::string& message) : Error(ErrorKind::Cancelled, message) {}
};

}  // namespace counterbeam
