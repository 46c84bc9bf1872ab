#include "cli/input.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/units.h"

namespace counterbeam::cli {
namespace {

void check_end() {
  if (!std::ferror(stdin)) return;
  if (errno == EISDIR) bad_input("standard input is a folder; give a file or a pipe");
  if (errno == EBADF) bad_input("standard input is closed; give a file or a pipe");
  failed("standard input cannot be read: {}", std::strerror(errno));
}

}  // namespace

std::string read_standard_input() {
  std::string text;
  char buffer[1 << 16];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, stdin)) {
    if (text.size() + count > kMostInput)
      bad_input("standard input has more than {}; give a shorter text", human_bytes(kMostInput));
    text.append(buffer, count);
  }
  check_end();
  return text;
}

bool read_input_line(std::string& line) {
  line.clear();
  for (int c = ::getc_unlocked(stdin); c != EOF; c = ::getc_unlocked(stdin)) {
    if (c == '\n') return true;
    if (line.size() == kMostInput)
      bad_input("standard input has a line of more than {}; give shorter lines",
                human_bytes(kMostInput));
    line.push_back(static_cast<char>(c));
  }
  check_end();
  return !line.empty();
}

}  // namespace counterbeam::cli
