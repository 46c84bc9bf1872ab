#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace counterbeam {

Terminal terminal_of(std::FILE* stream) {
  Terminal terminal;
  const int file = ::fileno(stream);
  const char* kind = std::getenv("TERM");
  const bool dumb = kind && std::string_view(kind) == "dumb";
  terminal.live = ::isatty(file) && !dumb;
  const char* no_colour = std::getenv("NO_COLOR");  // any non-empty value counts
  terminal.colour = terminal.live && !(no_colour && *no_colour);
  winsize size{};
  if (::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) terminal.width = size.ws_col;
  return terminal;
}

}  // namespace counterbeam
