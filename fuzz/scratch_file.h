// A file for readers that take a path, in a folder of its own that goes with the process. Written
// anew for every input, without the care that results need.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"

namespace counterbeam {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "counterbeam-XXXXXX").string();
    CB_CHECK(::mkdtemp(name.data()));
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, std::string_view content) const {
    std::ofstream file(path_ / name, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    CB_CHECK(file.flush());
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

// The text up to the next zero byte, which `rest` then starts after.
inline std::string_view next_part(std::string_view& rest) {
  const std::size_t cut = rest.find('\0');
  const std::string_view part = rest.substr(0, cut);
  rest = cut == rest.npos ? std::string_view() : rest.substr(cut + 1);
  return part;
}

}  // namespace counterbeam
