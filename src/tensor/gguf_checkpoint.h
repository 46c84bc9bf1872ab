// A model in GGUF: one file, or the parts of a split one, NAME-00001-of-00003.gguf and so on. The
// files stay mapped while the GgufCheckpoint lives and nothing is copied. The metadata is that of
// the first part. Tensor names are unique.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "tensor/gguf.h"

namespace counterbeam {

class GgufCheckpoint {
 public:
  // `file` is the only part or the first one.
  static GgufCheckpoint open(const std::filesystem::path& file);

  struct Placed : GgufTensor {
    std::size_t file = 0;  // index into files()
  };

  std::string name() const { return files_[0].string(); }  // opens messages
  const GgufContent& metadata() const { return contents_[0]; }
  std::span<const Placed> tensors() const { return tensors_; }  // by name, ascending
  std::span<const std::filesystem::path> files() const { return files_; }
  std::size_t bytes() const;  // of all tensors

  const GgufTensor* find(std::string_view name) const;  // null if absent

  // Throw an Error that names the file if it became shorter or was written to since it was opened.
  // Called after reading.
  void check(std::string_view tensor) const;
  void check_metadata() const;
  void check_files() const;  // all of them

  // Hints to the page cache, as in Checkpoint.
  void will_need(std::string_view tensor) const;
  void done_with(std::string_view tensor) const;

 private:
  void add(const std::filesystem::path& file);
  void add_parts();
  void sort_tensors();
  using Advice = void (MappedFile::*)(std::size_t first, std::size_t count) const;
  void advise(std::string_view tensor, Advice advice) const;

  std::vector<std::filesystem::path> files_;
  std::vector<MappedFile> mapped_;     // one per file
  std::vector<GgufContent> contents_;  // one per file
  std::vector<Placed> tensors_;
};

}  // namespace counterbeam
