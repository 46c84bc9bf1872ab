// A bar for long work: how far, how fast, how long still. It draws on a terminal only, at most ten
// times a second, and takes its line away when it goes; in a pipe it is silent. Safe to call from
// several threads.
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

  // `total` of 0: not known; then there is a count and no bar.
  Progress(std::string label, std::int64_t total, bool quiet, std::FILE* out = stderr);
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(std::int64_t count = 1);
  void set(std::int64_t done);
  void set_note(std::string note);  // shown behind the bar, such as the score so far

 private:
  void draw(Clock::time_point now);

  std::mutex mutex_;
  std::string label_, note_;
  std::int64_t done_ = 0, total_;
  std::FILE* out_;
  bool live_;
  Clock::time_point start_ = Clock::now(), drawn_{};
};

// The line that is drawn, at most `width` columns of it.
std::string progress_line(std::string_view label, std::int64_t done, std::int64_t total,
                          double seconds, std::string_view note, int width);

}  // namespace counterbeam
