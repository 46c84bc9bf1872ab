// One process at a time uses a folder that several runs write to.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace counterbeam {

// Locks a folder for this process (flock); the kernel releases the lock even after kill -9. Folders
// that were made for the lock and are empty at its end, as after a refusal, are removed.
class FolderLock {
 public:
  // Creates the folder if needed. Throws Error if another process holds the lock; `named` is how
  // the user names another one.
  explicit FolderLock(const std::filesystem::path& folder, std::string_view named = "--out");
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::vector<std::filesystem::path> made_;  // the locked one first
  int folder_;
};

}  // namespace counterbeam
