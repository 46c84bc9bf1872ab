#include "base/log.h"

#include "base/terminal.h"

namespace counterbeam {

void Log::line(std::string_view kind, std::string_view text) {
  const std::lock_guard lock(mutex_);
  // On a terminal a progress bar may stand on this line.
  fmt::print(out_, "{}counterbeam: {}{}\n", terminal_of(out_).live ? "\r\x1b[K" : "", kind, text);
  std::fflush(out_);
}

}  // namespace counterbeam
