// The entries of a folder. std::filesystem::directory_iterator is not used for this, because it
// ends the program if there is no memory for a name.
#pragma once

#include <filesystem>
#include <vector>

namespace counterbeam {

// FOLDER/NAME for every entry but "." and "..", sorted by name. Empty if the folder is absent, is
// no folder, or may not be read. Throws Failed if listing fails, so a returned list is complete.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder);

}  // namespace counterbeam
