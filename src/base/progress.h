// A progress bar: share done, rate and time left. It draws on terminals only, at most ten times a
// second, and its destructor clears the line; into a pipe or file it prints nothing. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

namespace counterbeam {

class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  // A `total` of 0 means unknown: a count is shown instead of a bar.
  Progress(std::string label, std::int64_t total, bool quiet, std::FILE* out = stderr);
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::int64_t count = 1);
  void set(std::int64_t done);
  void set_note(std::string note);  // shown after the bar, such as the score so far

 private:
  void draw(Clock::time_point now);

  std::mutex mutex_;
  std::string label_, note_;
  std::int64_t done_ = 0, total_;
  std::FILE* out_;
  bool live_;
  Clock::time_point start_ = Clock::now(), drawn_{};
};

// The text of the bar, cut to `width` columns.
std::string progress_line(std::string_view label, std::int64_t done, std::int64_t total,
                          double seconds, std::string_view note, int width);

}  // namespace counterbeam
