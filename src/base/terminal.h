// Whether a stream is a terminal, and if so its width and whether colours may be used.
#pragma once

#include <cstdio>

namespace counterbeam {

struct Terminal {
  bool live = false;    // lines may be redrawn
  bool colour = false;  // false if NO_COLOR is set, TERM is dumb, or the stream is a pipe
  int width = 80;       // columns
};

Terminal terminal_of(std::FILE* stream);

}  // namespace counterbeam
