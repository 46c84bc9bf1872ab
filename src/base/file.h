// Whole files in and out, with errors that name the file and the reason.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace counterbeam {

std::string read_file(const std::filesystem::path& path);

// Written beside the target and renamed over it: a reader sees the old file or the new one.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace counterbeam
