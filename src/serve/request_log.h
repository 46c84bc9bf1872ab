// One line per request on standard error, as text or JSON. Lines are written by a thread of their
// own: for a reader that is slow or gone, lines are dropped, and no request is delayed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "serve/metrics.h"

namespace counterbeam::serve {

enum class LogFormat { None, Text, Json };

struct LogLine {
  std::string id{}, client{}, method{}, path{}, model{}, search{};
  int status = 0;  // 0: the client went away first
  double seconds = 0;
  std::string note{};  // why it failed, in full; the client is told less
  const RequestCost* cost = nullptr;
};

class RequestLog {
 public:
  explicit RequestLog(LogFormat format, int file = 2);
  ~RequestLog();  // writes what is left, but does not wait for a reader that does not read
  void add(const LogLine& line);

 private:
  void write_lines();
  bool write_all(const std::string& text);

  static constexpr std::size_t kMostLines = 4096;

  const LogFormat format_;
  const int file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  std::int64_t lost_ = 0;
  bool stopping_ = false;
  std::jthread thread_;
};

}  // namespace counterbeam::serve
