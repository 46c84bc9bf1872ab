#include "base/make_folder.h"

#include "base/error.h"

namespace counterbeam {

std::vector<std::filesystem::path> make_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> made;
  std::error_code error;
  for (std::filesystem::path place = folder.has_filename() ? folder : folder.parent_path();
       !place.empty() &&
       std::filesystem::status(place, error).type() == std::filesystem::file_type::not_found;
       place = place.parent_path())
    made.push_back(place);
  std::filesystem::create_directories(folder, error);
  if (error) failed("{}: the folder cannot be made: {}", folder.string(), error.message());
  return made;
}

}  // namespace counterbeam
