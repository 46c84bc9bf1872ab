// A whole file mapped read-only. Pages are read on first access. If the file shrinks while it is
// mapped, or its disk fails, the missing pages read as zeros and check() throws: the signal that
// the system sends (SIGBUS) is handled for mapped files, and left to others everywhere else.
#pragma once

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

  // Throws Failed, with `name`, if bytes that were read had disappeared. Call it after reading.
  void check(const std::filesystem::path& name) const;

  // Hints about bytes [first, first + count). After done_with() the bytes are read from disk again
  // on the next access.
  void will_need(std::size_t first, std::size_t count) const;
  void done_with(std::size_t first, std::size_t count) const;

 private:
  void advise(std::size_t first, std::size_t count, int advice) const;

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  MappedPlace* place_ = nullptr;  // what the signal handler knows; null: nothing
};

}  // namespace counterbeam
