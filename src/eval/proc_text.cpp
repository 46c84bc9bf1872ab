#include "eval/proc_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace counterbeam {

const char* proc_text(const char* path, char* buffer, std::size_t size) {
  buffer[0] = '\0';
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return buffer;
  const ssize_t got = ::read(file, buffer, size - 1);
  ::close(file);
  buffer[std::max<ssize_t>(got, 0)] = '\0';
  return buffer;
}

}  // namespace counterbeam
