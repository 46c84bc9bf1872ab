// A whole file mapped read-only. Pages are read on first access. If the file changes while it is
// mapped, or its disk fails, check() throws. Missing pages read as zeros: the signal that the
// system sends (SIGBUS) is handled for mapped files, and left to others everywhere else. The rest
// of a page in which the file now ends reads as zeros without a signal, so the file's size and time
// count too.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <span>

namespace counterbeam {

struct MappedPlace;

class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);  // a regular file; may be empty
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Throws Failed, with `name`, if the file became shorter or was written to since it was opened.
  // Call it after reading.
  void check(const std::filesystem::path& name) const;

  // Hints about bytes [first, first + count). After done_with() the bytes are read from disk again
  // on the next access.
  void will_need(std::size_t first, std::size_t count) const;
  void done_with(std::size_t first, std::size_t count) const;

 private:
  void advise(std::size_t first, std::size_t count, int advice) const;

  int file_ = -1;  // stays open for check(): another file may take the name meanwhile
  struct stat opened_ {};
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  MappedPlace* place_ = nullptr;  // what the signal handler knows; null: nothing
};

}  // namespace counterbeam
