#include "tensor/block_matrix.h"

#include <cstring>

#include "base/error.h"

namespace counterbeam {
namespace {

float half_at(const std::byte* data) {
  std::uint16_t bits;
  std::memcpy(&bits, data, sizeof bits);
  return from_f16(bits);
}

const std::byte* block_at(const BlockMatrix& m, int row, int block) {
  const BlockShape shape = shape_of(m.type);
  return m.data + (std::int64_t{row} * (m.in / shape.elements) + block) * shape.bytes;
}

}  // namespace

BlockShape shape_of(BlockType type) {
  switch (type) {
    case BlockType::Q8_0:
      return {32, 34};
  }
  CB_CHECK(false);
}

CodeLayout BlockMatrix::codes() const {
  return {.kind = CodeKind::Int8, .group = 32, .groups = in / 32};
}

void BlockMatrix::read_codes(int row, int first, std::span<std::uint8_t> to) const {
  for (std::size_t i = 0; i < to.size(); ++i) {
    const int column = first + static_cast<int>(i);
    to[i] = std::to_integer<std::uint8_t>(block_at(*this, row, column / 32)[2 + column % 32]);
  }
}

void BlockMatrix::read_scales(int row, std::span<float> scales, std::span<float>) const {
  for (int block = 0; block < in / 32; ++block)
    scales[static_cast<std::size_t>(block)] = half_at(block_at(*this, row, block));
}

void BlockMatrix::read_order(std::span<std::int32_t> to) const {
  const int group = codes().group;
  for (std::size_t j = 0; j < to.size(); ++j) to[j] = static_cast<std::int32_t>(j) / group;
}

void BlockMatrix::read(int row, int first, std::span<float> to) const {
  for (std::size_t i = 0; i < to.size(); ++i) {
    const int column = first + static_cast<int>(i);
    const std::byte* block = block_at(*this, row, column / 32);
    to[i] =
        half_at(block) * static_cast<float>(std::to_integer<std::int8_t>(block[2 + column % 32]));
  }
}

}  // namespace counterbeam
