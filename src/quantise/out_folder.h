// The folder that a quantised model is written to, and what an earlier run has left there.
#pragma once

#include <filesystem>

#include "base/folder_lock.h"
#include "base/json.h"

namespace counterbeam {

class OutFolder {
 public:
  // Makes the folder if needed and locks it. `record` says what the model is made of; it is written
  // to counterbeam_quantize.json, which stays. BadInput if the folder holds anything but a model or
  // an unfinished run with the same record.
  OutFolder(const std::filesystem::path& folder, const Json& record);

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& work() const { return work_; }  // for unfinished files
  bool complete() const;

  // Fails, with both sizes, if there is less than this on the disk beside what is written already.
  void expect_space(std::int64_t bytes) const;
  // Writes config.json, which completes the model, and removes the unfinished files.
  void complete_with(const Json& config);
  void remove_work() const;

 private:
  std::filesystem::path path_, work_;
  FolderLock lock_;
};

// Copies every file beside the weights: tokenizer, templates, licence. Folders and files whose
// names begin with a dot are left out.
void copy_small_files(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace counterbeam
