#include "base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/refuse_opening.h"

namespace counterbeam {
namespace {

struct stat status_of(const OpenFile& file, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(::fileno(file.get()), &status) != 0)
    failed("{}: cannot be read: {}", path.string(), std::strerror(errno));
  return status;
}

[[noreturn]] void is_a_folder(const std::filesystem::path& path) {
  bad_input("{}: is a folder, not a file", path.string());
}

[[noreturn]] void is_a_device(const std::filesystem::path& path) {
  bad_input("{}: is a device or a pipe, not a regular file", path.string());
}

}  // namespace

OpenFile open_regular_file(const std::filesystem::path& path) {
  // O_NONBLOCK, so that opening a FIFO does not wait for a writer.
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) refuse_opening(path, errno);
  OpenFile file(::fdopen(opened, "rb"));
  if (!file) {
    const int reason = errno;
    ::close(opened);
    failed("{}: cannot be opened: {}", path.string(), std::strerror(reason));
  }
  const struct stat status = status_of(file, path);
  if (S_ISDIR(status.st_mode)) is_a_folder(path);
  if (!S_ISREG(status.st_mode)) is_a_device(path);
  return file;
}

void refuse_irregular(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::is_directory(status)) is_a_folder(path);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    is_a_device(path);
}

std::uint64_t size_of(const OpenFile& file, const std::filesystem::path& path) {
  return static_cast<std::uint64_t>(status_of(file, path).st_size);
}

}  // namespace counterbeam
