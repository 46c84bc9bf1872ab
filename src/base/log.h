// Notes and warnings for the user, on standard error; standard output is for results. -q silences
// notes but not warnings. Failures are not logged: they are thrown as Errors.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <mutex>
#include <string_view>
#include <utility>

namespace counterbeam {

class Log {
 public:
  explicit Log(bool quiet, std::FILE* out = stderr) : quiet_(quiet), out_(out) {}

  template <typename... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    if (!quiet_) line("", fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void warning(fmt::format_string<Args...> format, Args&&... args) {
    line("warning: ", fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  void line(std::string_view kind, std::string_view text);

  std::mutex mutex_;
  bool quiet_;
  std::FILE* out_;
};

}  // namespace counterbeam
