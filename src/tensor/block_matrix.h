// A matrix whose rows are runs of self-contained blocks, each with its own scales and codes: the
// formats of GGUF. A block holds a fixed number of elements of one row; rows are whole blocks. What
// all types share: 32 neighbouring elements, here called a group, are small codes with a scale and
// an offset for each half. The decoded numbers are those of ggml, bit for bit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tensor/code_layout.h"
#include "tensor/ggml_type.h"

namespace counterbeam {

// Whether the type is quantised and can be decoded.
bool is_block_type(GgmlType type);
std::string block_type_names();  // "Q2_K, Q3_K, ...", for messages

inline constexpr int kBlockGroup = 32;

// Of the two halves of a group: element l is value(code) * scale[l / 16] + offset[l / 16], where
// value() is that of the type's CodeLayout.
struct GroupScales {
  std::array<float, 2> scale, offset;
};

struct BlockMatrix {
  int out = 0, in = 0;              // `in` is a multiple of the elements of a block
  GgmlType type = GgmlType::Q8_0;   // is_block_type() holds
  const std::byte* data = nullptr;  // [out][in / elements] blocks
  // Row i is the stored row rows[i], and column j the stored column columns[j]; empty: as stored.
  std::span<const std::int32_t> rows{}, columns{};

  // What an alternative of StoredMatrix offers; see there.
  void read(int row, int first, std::span<float> to) const;
  CodeLayout codes() const;
  void read_codes(int row, int first, std::span<std::uint8_t> to) const;
  void read_scales(int row, std::span<float> scales, std::span<float> offsets) const;
  void read_order(std::span<std::int32_t> to) const;
};

// Bytes of a row. REQUIRES: `in` is a multiple of the elements of a block
std::size_t row_bytes_of(GgmlType type, std::int64_t in);

// The index of the first block whose scale is NaN or infinite. REQUIRES is_block_type()
std::optional<std::int64_t> first_non_finite_block(GgmlType type, std::span<const std::byte> data);

}  // namespace counterbeam
