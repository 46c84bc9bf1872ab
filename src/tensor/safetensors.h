// The safetensors format: the header length N as 8 little-endian bytes, N bytes of JSON, then the
// data (docs/formats.md). Reading checks every rule of the format: each tensor has exactly the
// bytes that its dtype and shape need, and the tensors cover the data without gaps or overlap. Only
// the header is read, never the data.
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

// Reads a file that is in memory. The views point into `bytes`. Messages start with `name`.
SafetensorsContent read_safetensors(std::span<const std::byte> bytes, std::string_view name);

// A mapped file and its tensors.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  std::span<const NamedTensor> tensors() const { return content_.tensors; }
  const std::vector<std::pair<std::string, std::string>>& metadata() const {
    return content_.metadata;
  }
  const TensorView* find(std::string_view name) const;  // null if absent
  const MappedFile& file() const { return file_; }

 private:
  MappedFile file_;
  SafetensorsContent content_;
};

// Finds a name in a list that is sorted by name; null if absent.
template <typename Named>
const Named* find_named(std::span<const Named> sorted, std::string_view name) {
  const auto found =
      std::lower_bound(sorted.begin(), sorted.end(), name,
                       [](const Named& entry, std::string_view n) { return entry.name < n; });
  return found != sorted.end() && found->name == name ? &*found : nullptr;
}

// A file as write_safetensors writes it, without its numbers: `head` opens it, tensor i begins at
// byte offsets[i]. REQUIRES: distinct names.
struct SafetensorsLayout {
  std::string head;
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;  // of the whole file
};
SafetensorsLayout lay_out_safetensors(
    std::span<const NamedTensor> tensors,
    std::span<const std::pair<std::string, std::string>> metadata = {});

// Writes the file atomically. Tensors are ordered by descending element size and otherwise as
// given; the header is padded to a multiple of 8 bytes. REQUIRES: distinct names.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       std::span<const std::pair<std::string, std::string>> metadata = {});

}  // namespace counterbeam
