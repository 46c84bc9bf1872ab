#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/output_file.h"

namespace counterbeam {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Whether the file or the machine is to blame decides what callers may do without the file.
[[noreturn]] void refuse_opening(const std::filesystem::path& path, int reason) {
  const bool machine = reason == EMFILE || reason == ENFILE || reason == ENOMEM || reason == EIO;
  throw_error(machine ? ErrorKind::Failed : ErrorKind::BadInput,
              fmt::format("{}: cannot be opened: {}", path.string(), std::strerror(reason)));
}

}  // namespace

std::string read_file(const std::filesystem::path& path, std::uint64_t most) {
  // O_NONBLOCK, so that opening a FIFO does not wait for a writer.
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) refuse_opening(path, errno);
  std::unique_ptr<std::FILE, CloseFile> file(::fdopen(opened, "rb"));
  if (!file) {
    const int reason = errno;
    ::close(opened);
    failed("{}: cannot be opened: {}", path.string(), std::strerror(reason));
  }
  struct stat status {};
  if (::fstat(opened, &status) != 0)
    failed("{}: cannot be read: {}", path.string(), std::strerror(errno));
  if (S_ISDIR(status.st_mode)) bad_input("{}: is a folder, not a file", path.string());
  if (!S_ISREG(status.st_mode))
    bad_input("{}: is a device or a pipe, not a regular file", path.string());
  const auto check_size = [&](std::uint64_t size) {
    if (size > most)
      bad_input("{}: is {} bytes long; at most {} are read", path.string(), size, most);
  };
  const auto size = static_cast<std::uint64_t>(status.st_size);
  check_size(size);
  std::string content;
  content.reserve(size);  // the exact size, so that appending never reallocates
  char buffer[1 << 16];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, file.get())) {
    content.append(buffer, got);
    check_size(content.size());  // it may grow meanwhile
  }
  if (std::ferror(file.get()))
    failed("{}: cannot be read: {}", path.string(), std::strerror(errno));
  return content;
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  OutputFile file(path);
  file.write(content.data(), content.size());
  file.finish();
}

}  // namespace counterbeam
