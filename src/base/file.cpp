#include "base/file.h"

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

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    bad_input("{}: is a folder, not a file", path.string());
  std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file) bad_input("{}: cannot be opened: {}", path.string(), std::strerror(errno));
  std::string content;
  const auto size = std::filesystem::file_size(path, ignored);
  if (!ignored) content.reserve(size);  // the exact size, so that appending never reallocates
  char buffer[1 << 16];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, file.get()))
    content.append(buffer, got);
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
