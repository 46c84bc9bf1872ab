#include "cli/live_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <vector>

#include "base/output.h"
#include "base/start_thread.h"
#include "base/terminal.h"
#include "base/units.h"
#include "base/utf8.h"

namespace counterbeam::cli {
namespace {

constexpr auto kBetweenDraws = std::chrono::milliseconds(100);

// Columns that a terminal gives a character: two for East Asian scripts and pictographs.
int columns_of(char32_t c) {
  struct Range {
    char32_t first, last;
  };
  constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                             {0xF900, 0xFAFF},   {0xFE30, 0xFE4F},   {0xFF00, 0xFF60},
                             {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF},
                             {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
  for (const Range& range : kWide)
    if (c >= range.first && c <= range.last) return 2;
  return 1;
}

// The end of the text that fits the columns, on one line.
std::string last_columns(const std::string& given, int columns) {
  const std::string text = to_valid_utf8(given);
  std::vector<std::pair<std::size_t, int>> characters;  // where each begins, and its columns
  for (std::size_t i = 0; i < text.size();) {
    const auto decoded = decode_utf8(text, i);
    characters.emplace_back(i, columns_of(decoded.point));
    i += decoded.length;
  }
  std::size_t begin = text.size();
  for (auto it = characters.rbegin(); it != characters.rend(); ++it) {
    columns -= it->second;
    if (columns < 0) break;
    begin = it->first;
  }
  std::string end = text.substr(begin);
  for (char& c : end)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  return end;
}

}  // namespace

std::string live_line(const LiveStatus& status, int width) {
  const int room = std::max(1, width - 1);
  std::string line = fmt::format("block {}/{}", status.block, status.blocks);
  if (status.blocks == 0) line = "reading";
  const double rate = static_cast<double>(status.tokens) / std::max(status.seconds, 1e-9);
  std::vector<std::string> parts = {fmt::format("{} tokens", human_count(status.tokens))};
  if (status.seconds_left >= 0)
    parts.push_back(fmt::format("{} left", human_duration(status.seconds_left)));
  if (status.block > 0) {
    parts.push_back(fmt::format("best {:.3f}", status.best));
    parts.push_back(fmt::format("{} alive, {} finished", status.alive, status.finished));
  }
  parts.push_back(fmt::format("{:.0f} tok/s", rate));
  // Half of the line is for the text.
  const auto limit = static_cast<std::size_t>(status.text.empty() ? room : std::max(26, room / 2));
  for (const std::string& part : parts)
    if (line.size() + 2 + part.size() <= limit) line += "  " + part;
  if (line.size() > static_cast<std::size_t>(room)) line.resize(static_cast<std::size_t>(room));
  const int left = room - static_cast<int>(line.size()) - 3;
  if (left > 4 && !status.text.empty()) line += " | " + last_columns(status.text, left);
  return line;
}

LiveAnswer::LiveAnswer(bool quiet, const Engine& engine)
    : engine_(engine),
      drawn_before_(engine.tokens_drawn()),
      status_(!quiet && terminal_of(stderr).live),
      stream_(status_ && terminal_of(stdout).live) {
  if (status_) thread_ = start_thread([this] { redraw_until_stopped(); });
}

LiveAnswer::~LiveAnswer() {
  stop();
}

void LiveAnswer::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  thread_.join();
  write_message("\r\033[K");
}

void LiveAnswer::redraw_until_stopped() {
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, kBetweenDraws, [this] { return stopping_; })) {
    try {
      draw();
    } catch (const std::bad_alloc&) {
      // A status line more or less; the search finds out by itself.
    }
  }
}

// REQUIRES the lock.
void LiveAnswer::draw() {
  LiveStatus status;
  status.block = report_.block;
  status.blocks = report_.blocks;
  status.alive = report_.alive;
  status.finished = report_.finished;
  status.best = report_.best;
  status.tokens = engine_.tokens_drawn() - drawn_before_;
  status.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (report_.block > 0) {
    const double all = last_block_ / report_.block * report_.blocks;
    status.seconds_left = std::max(0.0, all - status.seconds);
  }
  const std::string& best = report_.best_text;
  status.text = best.substr(std::min(printed_, best.size()));
  write_message(fmt::format("\r{}\033[K", live_line(status, terminal_of(stderr).width)));
}

void LiveAnswer::update(const BlockReport& report) {
  if (!status_) return;
  const std::lock_guard lock(mutex_);
  report_ = report;
  const std::string& agreed = report.agreed_text;
  last_block_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const auto line_end = agreed.rfind('\n');
  if (stream_ && line_end != agreed.npos && line_end + 1 > printed_) {
    write_message("\r\033[K");
    write_result(std::string_view(agreed).substr(printed_, line_end + 1 - printed_));
    flush_results();
    printed_ = line_end + 1;
  }
  draw();
}

void LiveAnswer::finish(std::string_view answer) {
  stop();
  print_result("{}\n", answer.substr(std::min(printed_, answer.size())));
  flush_results();
}

}  // namespace counterbeam::cli
