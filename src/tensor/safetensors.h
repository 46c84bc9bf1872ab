// The safetensors format: 8 bytes little-endian header length N, N bytes of JSON, then the numbers
// (docs/formats.md). A file that was read obeys every rule of the format: each tensor has as many
// bytes as its dtype and shape say, and the tensors cover the data without holes or overlap.
// Reading never touches the numbers themselves.
#pragma once

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "tensor/tensor.h"

namespace counterbeam {

struct NamedTensor {
  std::string name;
  TensorView view;
};

struct SafetensorsContent {
  std::vector<NamedTensor> tensors;  // by name, ascending
  std::vector<std::pair<std::string, std::string>> metadata;
};

// Reads a whole file that is in memory; the views look into `bytes`. `name` opens the messages.
SafetensorsContent read_safetensors(std::span<const std::byte> bytes, std::string_view name);

// A mapped file and its tensors.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  std::span<const NamedTensor> tensors() const { return content_.tensors; }
  const std::vector<std::pair<std::string, std::string>>& metadata() const {
    return content_.metadata;
  }
  const TensorView* find(std::string_view name) const;  // null where absent
  const MappedFile& file() const { return file_; }

 private:
  MappedFile file_;
  SafetensorsContent content_;
};

// The entry of that name in a list sorted by name; null where absent.
template <typename Named>
const Named* find_named(std::span<const Named> sorted, std::string_view name) {
  const auto found =
      std::lower_bound(sorted.begin(), sorted.end(), name,
                       [](const Named& entry, std::string_view n) { return entry.name < n; });
  return found != sorted.end() && found->name == name ? &*found : nullptr;
}

// Writes beside `path` and renames: tensors ordered by descending element size, then as given, the
// header padded to a multiple of 8. REQUIRES distinct names.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       std::span<const std::pair<std::string, std::string>> metadata = {});

}  // namespace counterbeam
