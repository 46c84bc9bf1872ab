// model.safetensors.index.json: which shard holds which tensor. What it names are plain file names
// of its own folder, and every tensor occurs once.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace counterbeam {

class ShardIndex {
 public:
  // `name` opens the messages.
  ShardIndex(std::string_view text, std::string_view name);

  std::span<const std::string> files() const { return files_; }  // ascending, each once
  // Tensor name, index into files(); ascending.
  std::span<const std::pair<std::string, std::size_t>> entries() const { return entries_; }

 private:
  std::vector<std::string> files_;
  std::vector<std::pair<std::string, std::size_t>> entries_;
};

}  // namespace counterbeam
