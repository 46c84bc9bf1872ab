// What a stream leads to: a terminal, whose width and colours may be used, or a pipe or file.
#pragma once

#include <cstdio>

namespace counterbeam {

struct Terminal {
  bool live = false;    // lines may be redrawn
  bool colour = false;  // false where NO_COLOR is set, for TERM=dumb, and in pipes
  int width = 80;       // columns
};

Terminal terminal_of(std::FILE* stream);

}  // namespace counterbeam
