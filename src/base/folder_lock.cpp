#include "base/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace counterbeam {

FolderLock::FolderLock(const std::filesystem::path& folder, std::string_view named) {
  std::filesystem::create_directories(folder);
  folder_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) failed("{}: cannot be opened: {}", folder.string(), std::strerror(errno));
  if (::flock(folder_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  ::close(folder_);
  if (reason == EWOULDBLOCK)
    bad_input("{}: another process is using this folder; wait for it, or name another {}",
              folder.string(), named);
  failed("{}: cannot be locked: {}", folder.string(), std::strerror(reason));
}

FolderLock::~FolderLock() {
  ::close(folder_);
}

}  // namespace counterbeam
