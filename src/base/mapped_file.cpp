#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace counterbeam {

MappedFile::MappedFile(const std::filesystem::path& path) {
  // O_NONBLOCK, so that opening a FIFO does not wait for a writer.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) bad_input("{}: cannot be opened: {}", path.string(), std::strerror(errno));
  struct stat status {};
  const bool known = ::fstat(file, &status) == 0;
  const bool regular = known && S_ISREG(status.st_mode);
  void* mapped = nullptr;
  if (regular && status.st_size > 0)
    mapped =
        ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  const int reason = errno;
  ::close(file);
  if (!regular) bad_input("{}: is not a regular file", path.string());
  if (mapped == MAP_FAILED)
    failed("{}: cannot be mapped: {}", path.string(), std::strerror(reason));
  data_ = static_cast<const std::byte*>(mapped);
  size_ = static_cast<std::size_t>(status.st_size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::advise(std::size_t first, std::size_t count, int advice) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t begin = std::min(first, size_) / page * page;
  const std::size_t end = std::min(first + count, size_);
  // Only a hint, so a failure does not matter.
  if (begin < end) (void)::madvise(const_cast<std::byte*>(data_) + begin, end - begin, advice);
}

void MappedFile::will_need(std::size_t first, std::size_t count) const {
  advise(first, count, MADV_WILLNEED);
}

void MappedFile::done_with(std::size_t first, std::size_t count) const {
  advise(first, count, MADV_DONTNEED);
}

}  // namespace counterbeam
