#include "base/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace counterbeam {
namespace {

[[noreturn]] void lost(const char* reason) {
  failed("standard output cannot be written: {}; results are lost", reason);
}

}  // namespace

void write_result(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) lost(std::strerror(errno));
}

void flush_results() {
  if (std::fflush(stdout) != 0) lost(std::strerror(errno));
  // A write that failed before and was not checked there.
  if (std::ferror(stdout)) lost("an earlier write failed");
}

void write_message(std::string_view text, std::FILE* stream) noexcept {
  [[maybe_unused]] const std::size_t written = std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

void occupy_closed_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) != -1 || errno != EBADF) continue;
    // open() returns the lowest free number, which is this one. It is opened for the opposite
    // direction, so that using it fails.
    const int opened = ::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened != number) ::close(opened);
  }
}

}  // namespace counterbeam
