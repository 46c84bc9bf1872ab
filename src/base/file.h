// Reads and writes whole files. Errors name the file and the reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace counterbeam {

// The content of a regular file of at most `most` bytes. Anything else (a folder, a device, a FIFO,
// a larger file) is an error before a byte is read.
inline constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 30;
std::string read_file(const std::filesystem::path& path, std::uint64_t most = kMostFileBytes);

// Replaces the file atomically: writes a temporary file next to it and renames, so that a reader
// sees either the old content or the new. A device or a FIFO in its place is refused.
void write_file(const std::filesystem::path& path, std::string_view content);

// The same for a file that the user names: a device or a FIFO is written to directly.
void write_named_file(const std::filesystem::path& path, std::string_view content);

}  // namespace counterbeam
