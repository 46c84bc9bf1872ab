// The weights of a Hugging Face folder: model.safetensors, or the shards listed in
// model.safetensors.index.json. The files stay mapped while the Checkpoint lives and nothing is
// copied. Tensor names are unique.
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

  const TensorView* find(std::string_view name) const;  // null if absent
  const TensorView& at(std::string_view name) const;    // throws an Error if absent

  // Throws an Error that names the tensor's file if it became shorter or was written to since it
  // was opened. Called after reading.
  void check(std::string_view name) const;

  // Hints to the page cache: the tensor will be read soon, or its pages may be evicted. A name that
  // is absent is ignored.
  void will_need(std::string_view name) const;
  void done_with(std::string_view name) const;
  // The same for a part of its data. REQUIRES that the tensor has these bytes.
  void done_with(std::string_view name, std::size_t first, std::size_t count) const;

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

// What to do about a folder without safetensors weights, judged by the other files in it.
std::string weights_remedy(const std::filesystem::path& folder);

}  // namespace counterbeam
