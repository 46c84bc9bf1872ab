// A matrix whose rows are runs of self-contained blocks, each with its own scales and codes: the
// formats of GGUF. A block holds a fixed number of elements of one row; rows are whole blocks.
#pragma once

#include <span>

#include "tensor/code_layout.h"
#include "tensor/tensor.h"

namespace counterbeam {

enum class BlockType : std::uint8_t {
  Q8_0,  // 32 elements: f16 scale, 32 signed bytes
};

struct BlockShape {
  int elements, bytes;  // of a block
};
BlockShape shape_of(BlockType type);

struct BlockMatrix {
  int out = 0, in = 0;  // `in` is a multiple of the elements of a block
  BlockType type = BlockType::Q8_0;
  const std::byte* data = nullptr;  // [out][in / elements] blocks

  // What an alternative of StoredMatrix offers; see there.
  void read(int row, int first, std::span<float> to) const;
  CodeLayout codes() const;
  void read_codes(int row, int first, std::span<std::uint8_t> to) const;
  void read_scales(int row, std::span<float> scales, std::span<float> offsets) const;
  void read_order(std::span<std::int32_t> to) const;
};

}  // namespace counterbeam
