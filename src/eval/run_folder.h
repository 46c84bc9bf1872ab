// The folder of an evaluation: one process at a time works in it, and run.json says what its
// samples belong to, so that a resumed run cannot mix models, seeds or data.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "eval/run.h"

namespace counterbeam {

// Holds a folder for this process (flock); the kernel lets go of it even after kill -9.
class FolderLock {
 public:
  // Makes the folder. Error when another process holds it.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int folder_;
};

// Checks run.json against this run, or writes it, with problems.jsonl beside it. Error when the
// folder holds samples and the run does not resume, or when what they belong to differs. REQUIRES
// the lock.
void claim_folder(const std::string& model, const std::vector<TaskData>& tasks,
                  const EvalOptions& options);

// Puts run.json and problems.jsonl of several shards together in `out`; error where they differ.
void merge_claims(const std::vector<std::filesystem::path>& shards,
                  const std::filesystem::path& out);

// The model that run.json names; empty where there is none.
std::string model_of(const std::filesystem::path& folder);

}  // namespace counterbeam
