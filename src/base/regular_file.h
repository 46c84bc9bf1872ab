// Opens files for reading that others may have put there: a folder, a device or a FIFO in the place
// of a file is refused before a byte is read, and opening never waits.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace counterbeam {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

// Throws an Error that names the file if it is no regular file or cannot be opened.
OpenFile open_regular_file(const std::filesystem::path& path);

// Throws an Error that names the file if it exists and is a folder, a device or a FIFO: what is
// written there replaces regular files only.
void refuse_irregular(const std::filesystem::path& path);

// The size in bytes of an open file. `path` is for the message.
std::uint64_t size_of(const OpenFile& file, const std::filesystem::path& path);

}  // namespace counterbeam
