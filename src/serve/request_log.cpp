#include "serve/request_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "base/json.h"
#include "base/quote.h"
#include "base/start_thread.h"

namespace counterbeam::serve {
namespace {

std::string time_now() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto thousandths =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", utc, thousandths);
}

std::string json_line(const LogLine& line) {
  Json json = {{"time", time_now()},     {"id", line.id},     {"client", line.client},
               {"method", line.method},  {"path", line.path}, {"status", line.status},
               {"seconds", line.seconds}};
  if (!line.model.empty()) json["model"] = line.model;
  if (!line.search.empty()) json["search"] = line.search;
  if (line.cost) {
    json["prompt_tokens"] = line.cost->prompt_tokens;
    json["completion_tokens"] = line.cost->completion_tokens;
    json["generated_tokens"] = line.cost->generated_tokens;
    json["scored_tokens"] = line.cost->scored_tokens;
    json["cached_tokens"] = line.cost->cached_tokens;
    json["queue_seconds"] = line.cost->queue_seconds;
    json["first_token_seconds"] = line.cost->first_token_seconds;
  }
  if (!line.note.empty()) json["note"] = line.note;
  return to_line(json) + "\n";
}

std::string text_line(const LogLine& line) {
  std::string text =
      fmt::format("{} {} {} {} {} {} {:.3f} s", time_now(), line.id, line.client, line.method,
                  printable(line.path, 200), line.status > 0 ? std::to_string(line.status) : "gone",
                  line.seconds);
  if (!line.model.empty()) text += " " + printable(line.model, 200);
  if (line.cost)
    text += fmt::format(", {} + {} tokens, {} generated, {} scored, {} cached, queued {:.3f} s",
                        line.cost->prompt_tokens, line.cost->completion_tokens,
                        line.cost->generated_tokens, line.cost->scored_tokens,
                        line.cost->cached_tokens, line.cost->queue_seconds);
  if (!line.note.empty()) text += ": " + printable(line.note, 400);
  return text + "\n";
}

}  // namespace

RequestLog::RequestLog(LogFormat format, int file) : format_(format), file_(file) {
  if (format_ != LogFormat::None) thread_ = start_thread([this] { write_lines(); });
}

RequestLog::~RequestLog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void RequestLog::add(const LogLine& line) {
  if (format_ == LogFormat::None) return;
  std::string text = format_ == LogFormat::Json ? json_line(line) : text_line(line);
  const std::lock_guard lock(mutex_);
  if (lines_.size() >= kMostLines) {
    ++lost_;
    return;
  }
  lines_.push_back(std::move(text));
  changed_.notify_one();
}

void RequestLog::write_lines() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !lines_.empty(); });
    if (lines_.empty()) return;
    std::string text;
    if (lost_ > 0) text = fmt::format("counterbeam: {} lines were lost here\n", lost_);
    lost_ = 0;
    while (!lines_.empty() && text.size() < 4096) {
      text += lines_.front();
      lines_.pop_front();
    }
    lock.unlock();
    const bool written = write_all(text);
    lock.lock();
    if (!written) return;
  }
}

// False: the reader is gone, or does not read while we are to end.
bool RequestLog::write_all(const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    pollfd ready{file_, POLLOUT, 0};
    const int count = ::poll(&ready, 1, 200);
    if (count > 0 && (ready.revents & POLLOUT)) {
      const ssize_t bytes =
          ::write(file_, text.data() + at, std::min<std::size_t>(text.size() - at, PIPE_BUF));
      if (bytes < 0 && errno != EAGAIN && errno != EINTR) return false;
      at += bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
      continue;
    }
    if (count > 0) return false;
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
  }
  return true;
}

}  // namespace counterbeam::serve
