#include "base/file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/output_file.h"
#include "base/regular_file.h"

namespace counterbeam {
namespace {

void write_whole(OutputFile file, std::string_view content) {
  file.write(content.data(), content.size());
  file.finish();
}

}  // namespace

std::string read_file(const std::filesystem::path& path, std::uint64_t most) {
  const OpenFile file = open_regular_file(path);
  const auto check_size = [&](std::uint64_t size) {
    if (size > most)
      bad_input("{}: is {} bytes long; at most {} are read", path.string(), size, most);
  };
  const std::uint64_t size = size_of(file, path);
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
  write_whole(OutputFile(path), content);
}

void write_named_file(const std::filesystem::path& path, std::string_view content) {
  write_whole(OutputFile(path, Target::Any), content);
}

}  // namespace counterbeam
