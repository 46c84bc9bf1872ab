#include "cli/input.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "base/error.h"

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
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, stdin))
    text.append(buffer, count);
  check_end();
  return text;
}

bool read_input_line(std::string& line) {
  char* buffer = nullptr;
  std::size_t room = 0;
  errno = 0;
  const ssize_t length = ::getline(&buffer, &room, stdin);
  const std::unique_ptr<char, decltype(&std::free)> owner(buffer, &std::free);
  if (length < 0) {
    if (errno == ENOMEM) throw std::bad_alloc();  // not the end
    check_end();
    return false;
  }
  line.assign(buffer, static_cast<std::size_t>(length));
  if (line.ends_with('\n')) line.pop_back();
  return true;
}

}  // namespace counterbeam::cli
