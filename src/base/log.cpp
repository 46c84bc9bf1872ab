#include "base/log.h"

#include "base/output.h"
#include "base/terminal.h"

namespace counterbeam {

void Log::line(std::string_view kind, std::string_view text) {
  const std::lock_guard lock(mutex_);
  // On a terminal the line may hold a progress bar: clear it first.
  write_message(terminal_of(out_).live ? "\r\x1b[K" : "", out_);
  write_escaped(fmt::format("counterbeam: {}{}\n", kind, text), out_);
}

}  // namespace counterbeam
