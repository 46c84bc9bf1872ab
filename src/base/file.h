// Reads and writes whole files. Errors name the file and the reason.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace counterbeam {

std::string read_file(const std::filesystem::path& path);

// Replaces the file atomically: writes a temporary file next to it and renames, so that a reader
// sees either the old content or the new.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace counterbeam
