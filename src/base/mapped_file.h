// A whole file mapped read-only. Pages are read on first access. The file must not shrink while it
// is mapped: an access beyond its new end raises SIGBUS, which is not handled.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace counterbeam {

class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);  // a regular file; may be empty
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Hints about bytes [first, first + count). After done_with() the bytes are read from disk again
  // on the next access.
  void will_need(std::size_t first, std::size_t count) const;
  void done_with(std::size_t first, std::size_t count) const;

 private:
  void advise(std::size_t first, std::size_t count, int advice) const;

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace counterbeam
