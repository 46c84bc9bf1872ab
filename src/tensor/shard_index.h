// model.safetensors.index.json: which shard holds which tensor. Every shard is a plain file name
// within the index's own folder, and every tensor occurs once.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace counterbeam {

inline constexpr std::size_t kMostIndexBytes = std::size_t{16} << 20;

class ShardIndex {
 public:
  // Messages start with `name`.
  ShardIndex(std::string_view text, std::string_view name);

  std::span<const std::string> files() const { return files_; }  // ascending, each once
  // Tensor name and index into files(), sorted by name.
  std::span<const std::pair<std::string, std::size_t>> entries() const { return entries_; }

 private:
  std::vector<std::string> files_;
  std::vector<std::pair<std::string, std::size_t>> entries_;
};

}  // namespace counterbeam
