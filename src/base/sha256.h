// SHA-256 (FIPS 180-4): identifies files and models by their content.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace counterbeam {

class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  // The text and its length, so that two texts in a row are never taken for another split of them.
  void add_field(std::string_view text);

  // 64 hexadecimal digits of everything added so far. REQUIRES: nothing is added afterwards.
  std::string hex();

 private:
  void compress(const std::byte* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> pending_{};
  std::uint64_t size_ = 0;  // bytes added
};

std::string sha256(std::string_view text);

}  // namespace counterbeam
