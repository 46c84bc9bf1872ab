#include "base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/make_folder.h"

namespace counterbeam {
namespace {

// Another process may have removed the folder between our opening and locking it.
bool is_removed(int folder) {
  struct stat status {};
  return ::fstat(folder, &status) == 0 && status.st_nlink == 0;
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder, std::string_view named)
    : made_(make_folder(folder)) {
  folder_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) failed("{}: cannot be opened: {}", folder.string(), std::strerror(errno));
  const bool locked = ::flock(folder_, LOCK_EX | LOCK_NB) == 0;
  if (locked && !is_removed(folder_)) return;
  const int reason = locked ? EWOULDBLOCK : errno;
  ::close(folder_);
  if (reason == EWOULDBLOCK)
    bad_input("{}: another process is using this folder; wait for it, or name another {}",
              folder.string(), named);
  failed("{}: cannot be locked: {}", folder.string(), std::strerror(reason));
}

FolderLock::~FolderLock() {
  // rmdir() removes empty folders alone. The lock is kept meanwhile, so nobody begins to write
  // here.
  for (const std::filesystem::path& folder : made_)
    if (::rmdir(folder.c_str()) != 0) break;
  ::close(folder_);
}

}  // namespace counterbeam
