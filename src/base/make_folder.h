// Makes folders. Errors name the folder and the reason.
#pragma once

#include <filesystem>
#include <vector>

namespace counterbeam {

// Makes the folder, and those above it, unless it is there. Returns those that were not there, the
// folder itself first.
std::vector<std::filesystem::path> make_folder(const std::filesystem::path& folder);

}  // namespace counterbeam
