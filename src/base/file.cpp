#include "base/file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/error.h"

namespace counterbeam {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) bad_input("{}: is a folder, not a file", path.string());
  File file(std::fopen(path.c_str(), "rb"));
  if (!file) bad_input("{}: cannot be opened: {}", path.string(), std::strerror(errno));
  std::string content;
  char buffer[1 << 16];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, file.get()))
    content.append(buffer, got);
  if (std::ferror(file.get()))
    failed("{}: cannot be read: {}", path.string(), std::strerror(errno));
  return content;
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  const std::filesystem::path partial = path.string() + fmt::format(".{}.part", ::getpid());
  File file(std::fopen(partial.c_str(), "wb"));
  if (!file) failed("{}: cannot be written: {}", path.string(), std::strerror(errno));
  const bool written =
      std::fwrite(content.data(), 1, content.size(), file.get()) == content.size() &&
      std::fflush(file.get()) == 0 && ::fsync(::fileno(file.get())) == 0;
  if (!written || std::rename(partial.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    std::remove(partial.c_str());
    failed("{}: cannot be written: {}", path.string(), std::strerror(reason));
  }
}

}  // namespace counterbeam
