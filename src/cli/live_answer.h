// The live view of `ask` on a terminal: a status line with blocks, tokens, time left and the best
// text so far, redrawn ten times a second from the first token on; above it the lines of the answer
// that all candidates already agree on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "engine/engine.h"
#include "search/search.h"

namespace counterbeam::cli {

class LiveAnswer {
 public:
  // Shows nothing unless standard error is a terminal; streams the answer only where standard
  // output is one too. REQUIRES that the engine outlives it.
  LiveAnswer(bool quiet, const Engine& engine);
  ~LiveAnswer();  // takes the status line away
  LiveAnswer(const LiveAnswer&) = delete;
  LiveAnswer& operator=(const LiveAnswer&) = delete;

  // REQUIRES a report with texts.
  void update(const BlockReport& report);
  // Takes the status line away and prints what of the answer has not been printed yet.
  void finish(std::string_view answer);

 private:
  void redraw_until_stopped();
  void draw();
  void stop();

  const Engine& engine_;
  const std::int64_t drawn_before_;
  const bool status_, stream_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;  // guards everything below
  std::condition_variable stopped_;
  bool stopping_ = false;
  BlockReport report_;
  std::size_t printed_ = 0;  // bytes of the answer
  double last_block_ = 0;    // seconds from the start to the end of the last block
  std::jthread thread_;
};

struct LiveStatus {
  int block = 0, blocks = 0;  // finished blocks, and the most there can be
  std::size_t alive = 0, finished = 0;
  double best = 0;
  std::int64_t tokens = 0;
  double seconds = 0;
  double seconds_left = -1;  // at most; negative: not known yet
  std::string text{};        // the best so far
};

// The status line in at most width - 1 columns: what matters least is left out first.
std::string live_line(const LiveStatus& status, int width);

}  // namespace counterbeam::cli
