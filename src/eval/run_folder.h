// The output folder of an evaluation. One process at a time uses it, and run.json records the
// settings of its samples, so that a resumed run cannot mix models, seeds or data.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "eval/run.h"

namespace counterbeam {

// Locks a folder for this process (flock); the kernel releases the lock even after kill -9.
class FolderLock {
 public:
  // Creates the folder if needed. Throws Error if another process holds the lock.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int folder_;
};

// Checks run.json against this run, or writes it together with problems.jsonl. Throws Error if the
// folder has samples and the run does not resume, or if their settings differ. REQUIRES: the caller
// holds the lock.
void claim_folder(const std::string& model, const std::vector<TaskData>& tasks,
                  const EvalOptions& options);

// Merges run.json and problems.jsonl of several shards into `out`. Throws Error if they disagree.
void merge_claims(const std::vector<std::filesystem::path>& shards,
                  const std::filesystem::path& out);

// The model named in run.json; empty if there is none.
std::string model_of(const std::filesystem::path& folder);

}  // namespace counterbeam
