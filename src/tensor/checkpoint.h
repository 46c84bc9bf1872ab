// The weights of a Hugging Face folder: model.safetensors, or the shards that
// model.safetensors.index.json names. The files stay mapped as long as the Checkpoint lives and
// nothing is copied; every name occurs once.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "tensor/safetensors.h"

namespace counterbeam {

struct CheckpointTensor {
  std::string name;
  TensorView view;
  std::size_t file = 0;  // index into Checkpoint::files()
};

class Checkpoint {
 public:
  static Checkpoint open(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  std::span<const CheckpointTensor> tensors() const { return tensors_; }  // by name, ascending
  std::span<const std::filesystem::path> files() const { return files_; }
  std::size_t bytes() const;  // of all tensors

  const TensorView* find(std::string_view name) const;  // null where absent
  const TensorView& at(std::string_view name) const;    // an Error where absent

  // Hints: the tensor will be read soon; or it was read and its pages may go. An absent name is
  // ignored.
  void will_need(std::string_view name) const;
  void done_with(std::string_view name) const;

 private:
  using Advice = void (MappedFile::*)(std::size_t first, std::size_t count) const;
  void advise(std::string_view name, Advice advice) const;
  void add(const std::filesystem::path& file);
  void sort_by_name();
  void add_shards(const std::filesystem::path& index);

  std::filesystem::path folder_;
  std::vector<std::filesystem::path> files_;
  std::vector<MappedFile> mapped_;  // one per file
  std::vector<CheckpointTensor> tensors_;
};

// What to do about a folder without safetensors weights, from what else lies in it.
std::string weights_remedy(const std::filesystem::path& folder);

}  // namespace counterbeam
