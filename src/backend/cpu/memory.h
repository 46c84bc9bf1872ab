// Memory for weights, stores and scratch: initially zero, aligned to a cache line, committed by the
// system on first touch, in huge pages from 4 MiB on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

namespace counterbeam {

class Memory {
 public:
  Memory() = default;
  explicit Memory(std::size_t bytes);  // throws an Error if the system refuses
  ~Memory();
  Memory(Memory&& other) noexcept { swap(other); }
  Memory& operator=(Memory&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() const { return data_; }
  float* floats() const { return reinterpret_cast<float*>(data_); }
  std::size_t bytes() const { return bytes_; }

  // Grows to at least `bytes`; growing loses the contents. Never less than huge pages need, since
  // untouched memory costs nothing.
  void want(std::size_t bytes) {
    if (bytes > bytes_) *this = Memory(std::max(bytes + bytes / 4, kLarge));
  }

 private:
  static constexpr std::size_t kLargePage = std::size_t{2} << 20;
  static constexpr std::size_t kLarge = 2 * kLargePage;  // huge pages from here on

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
