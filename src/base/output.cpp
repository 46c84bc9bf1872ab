#include "base/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"

namespace counterbeam {
namespace {

[[noreturn]] void lost(int error) {
  // 0: an earlier write failed and was not checked.
  throw ResultsLost(fmt::format("standard output cannot be written: {}; results are lost",
                                error != 0 ? std::strerror(error) : "an earlier write failed"),
                    error == EPIPE);
}

}  // namespace

void write_result(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) lost(errno);
}

void flush_results() {
  if (std::fflush(stdout) != 0) lost(errno);
  if (std::ferror(stdout)) lost(0);
}

void write_message(std::string_view text, std::FILE* stream) noexcept {
  [[maybe_unused]] const std::size_t written = std::fwrite(text.data(), 1, text.size(), stream);
  std::fflush(stream);
}

void write_escaped(std::string_view text, std::FILE* stream) noexcept {
  std::size_t from = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are control characters too; in UTF-8, C2 comes before them.
    const bool second = i > from && text[i - 1] == '\xc2' && byte >= 0x80 && byte < 0xa0;
    if ((byte >= 0x20 && byte != 0x7f && !second) || byte == '\n') continue;
    write_message(text.substr(from, i - from - (second ? 1 : 0)), stream);
    char code[5];
    std::snprintf(code, sizeof code, "\\x%02x", byte);
    write_message(code, stream);
    from = i + 1;
  }
  write_message(text.substr(from), stream);
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

void make_write_signals_errors() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace counterbeam
