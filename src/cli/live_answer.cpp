#include "cli/live_answer.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/output.h"

namespace counterbeam::cli {
namespace {

std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) return size.ws_col;
  return 80;
}

// The last `count` bytes or fewer, from the start of a character on.
std::string_view tail(std::string_view text, std::size_t count) {
  if (text.size() > count) text.remove_prefix(text.size() - count);
  while (!text.empty() && (static_cast<unsigned char>(text.front()) & 0xC0) == 0x80)
    text.remove_prefix(1);
  return text;
}

}  // namespace

LiveAnswer::LiveAnswer(bool quiet)
    : status_(!quiet && ::isatty(STDERR_FILENO)), stream_(status_ && ::isatty(STDOUT_FILENO)) {}

void LiveAnswer::clear() {
  if (status_) write_message("\r\033[K");
}

void LiveAnswer::update(const BlockReport& report, std::string_view agreed) {
  if (!status_) return;
  clear();
  if (stream_ && report.alive > 0) {
    const auto line_end = agreed.rfind('\n');
    if (line_end != agreed.npos && line_end + 1 > printed_) {
      write_result(agreed.substr(printed_, line_end + 1 - printed_));
      flush_results();
      printed_ = line_end + 1;
    }
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const std::string status =
      fmt::format("block {}/{}  alive {}  finished {}  best {:.3f}  {:.0f} tok/s", report.block,
                  report.blocks, report.alive, report.finished, report.best,
                  static_cast<double>(report.generated_tokens) / std::max(seconds, 1e-9));
  const std::size_t room = terminal_width() - std::min(terminal_width(), status.size() + 5);
  std::string rest(agreed.substr(std::min(printed_, agreed.size())));
  std::replace(rest.begin(), rest.end(), '\n', ' ');
  print_message("{}{}{}", status, rest.empty() ? "" : " | ", tail(rest, room));
}

void LiveAnswer::finish(std::string_view answer) {
  clear();
  print_result("{}\n", answer.substr(std::min(printed_, answer.size())));
  flush_results();
}

}  // namespace counterbeam::cli
