#include "base/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/output.h"
#include "base/terminal.h"
#include "base/units.h"
#include "base/utf8.h"

namespace counterbeam {
namespace {

constexpr auto kBetweenDraws = std::chrono::milliseconds(100);

// The first `columns` characters; every character counts as one column.
std::string clipped(const std::string& text, int columns) {
  std::size_t end = 0;
  for (int column = 0; column < columns && end < text.size(); ++column)
    end += decode_utf8(text, end).length;
  return text.substr(0, end);
}

}  // namespace

std::string progress_line(std::string_view label, std::int64_t done, std::int64_t total,
                          double seconds, std::string_view note, int width) {
  std::string line = fmt::format("{} {}", label, human_count(done));
  if (total > 0) {
    const double part =
        std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
    constexpr int kCells = 20;
    const int full = static_cast<int>(part * kCells);
    line = fmt::format("{} [{}{}] {}/{} {:.0f}%", label,
                       std::string(static_cast<std::size_t>(full), '#'),
                       std::string(static_cast<std::size_t>(kCells - full), '.'), human_count(done),
                       human_count(total), part * 100);
    if (done > 0 && done < total && seconds > 0)
      line += fmt::format(", {} left", human_duration(seconds * (1 - part) / part));
  }
  if (!note.empty()) line += fmt::format(", {}", note);
  return clipped(to_valid_utf8(line), width - 1);
}

Progress::Progress(std::string label, std::int64_t total, bool quiet, std::FILE* out)
    : label_(std::move(label)), total_(total), out_(out), live_(!quiet && terminal_of(out).live) {}

Progress::~Progress() {
  if (drawn_ == Clock::time_point{}) return;
  write_message("\r\x1b[K", out_);
}

void Progress::add(std::int64_t count) {
  const std::lock_guard lock(mutex_);
  done_ += count;
  draw(Clock::now());
}

void Progress::set(std::int64_t done) {
  const std::lock_guard lock(mutex_);
  done_ = done;
  draw(Clock::now());
}

void Progress::set_note(std::string note) {
  const std::lock_guard lock(mutex_);
  note_ = std::move(note);
  draw(Clock::now());
}

void Progress::draw(Clock::time_point now) {
  if (!live_ || now - drawn_ < kBetweenDraws) return;
  drawn_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  write_message(fmt::format("\r{}\x1b[K", progress_line(label_, done_, total_, seconds, note_,
                                                        terminal_of(out_).width)),
                out_);
}

}  // namespace counterbeam
