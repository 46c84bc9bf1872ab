// Memory for weights, stores and scratch: zeros at first, aligned to a cache line, given by the
// system when it is touched, in large pages where there is much of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

namespace counterbeam {

class Memory {
 public:
  Memory() = default;
  explicit Memory(std::size_t bytes);  // throws Error when there is not that much
  ~Memory();
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() const { return data_; }
  float* floats() const { return reinterpret_cast<float*>(data_); }
  std::size_t bytes() const { return bytes_; }

  // At least this much, by giving the old memory up where it is too small: scratch, not storage.
  // Never so little that it does not get large pages: what is not touched costs nothing.
  void want(std::size_t bytes) {
    if (bytes > bytes_) *this = Memory(std::max(bytes + bytes / 4, kLarge));
  }

 private:
  static constexpr std::size_t kLargePage = std::size_t{2} << 20;
  static constexpr std::size_t kLarge = 2 * kLargePage;  // from here on in large pages

  void swap(Memory& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(mapped_, other.mapped_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
  }

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace counterbeam
