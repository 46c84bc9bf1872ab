#include "tensor/scaled_matrix.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "tensor/float8.h"

namespace counterbeam {
namespace {

// The column 8c + kAwqOrder[p] is in the four bits p (from the low end) of word c.
constexpr int kAwqOrder[8] = {0, 2, 4, 6, 1, 3, 5, 7};
constexpr int kAwqPlace[8] = {0, 4, 1, 5, 2, 6, 3, 7};  // its inverse
static_assert(kAwqOrder[kAwqPlace[3]] == 3 && kAwqOrder[kAwqPlace[6]] == 6);

std::uint32_t word(const std::byte* data, std::int64_t index) {
  std::uint32_t value;
  std::memcpy(&value, data + index * 4, 4);
  return value;
}

// Field `index` of a run of words at distances of `step` words, after `add` was added to its word.
std::uint32_t field(const std::byte* data, std::int64_t index, std::int64_t step, int bits,
                    std::uint32_t add = 0) {
  const int per_word = 32 / bits;
  const std::uint32_t mask = (1u << bits) - 1;
  return ((word(data, index / per_word * step) + add) >> (index % per_word * bits)) & mask;
}

float number_at(const TensorView& view, std::int64_t index) {
  const std::byte* at = view.data + index * static_cast<std::int64_t>(bytes_of(view.dtype));
  if (view.dtype == DType::F8E8M0 || view.dtype == DType::U8)
    return from_e8m0(std::to_integer<std::uint8_t>(*at));
  float value;
  to_f32(view.dtype, at, {&value, 1});
  return value;
}

float scale_of(const ScaledMatrix& m, int row, int group) {
  const std::int64_t line = row / m.scale_rows;
  const std::int64_t lines = (m.out + m.scale_rows - 1) / m.scale_rows;
  return number_at(m.scales, m.by_group ? group * lines + line : line * m.groups + group);
}

// The zero point in the terms of the stored codes.
int zero_of(const ScaledMatrix& m, int row, int group) {
  const std::int64_t fields = (std::int64_t{m.out} * m.bits + 31) / 32;  // words of all outputs
  const std::byte* data = m.zeros.data;
  switch (m.zero_layout) {
    case ScaledMatrix::Zeros::Fixed:
      return m.layout == ScaledMatrix::Values::Bytes ? 0 : 1 << (m.bits - 1);
    case ScaledMatrix::Zeros::Bytes: {
      const std::int64_t at = std::int64_t{row / m.scale_rows} * m.groups + group;
      const auto byte = std::to_integer<std::uint8_t>(data[at]);
      const int middle = m.layout == ScaledMatrix::Values::Bytes ? 0 : 1 << (m.bits - 1);
      return (m.zeros.dtype == DType::I8 ? static_cast<std::int8_t>(byte) : int{byte}) + middle;
    }
    case ScaledMatrix::Zeros::DownRows:
      return static_cast<int>(field(data + std::ptrdiff_t{group} * 4, row, m.groups, m.bits));
    case ScaledMatrix::Zeros::AlongRows: {
      const std::uint32_t ones = ~0u / ((1u << m.bits) - 1);  // 1 in every field
      const std::uint32_t add = m.zeros_less_one ? ones : 0;
      return static_cast<int>(field(data + group * fields * 4, row, 1, m.bits, add));
    }
    case ScaledMatrix::Zeros::AwqOrder:
      return static_cast<int>(
          field(data + group * fields * 4, row / 8 * 8 + kAwqPlace[row % 8], 1, m.bits));
  }
  return 0;
}

// Packed codes of eight bits are moved from 0..255 to the range of Int8.
constexpr int kByteShift = 128;

int shift_of(const ScaledMatrix& m) {
  return m.layout != ScaledMatrix::Values::Bytes && m.bits == 8 ? kByteShift : 0;
}

}  // namespace

CodeLayout ScaledMatrix::codes() const {
  CodeLayout codes;
  codes.kind = bits == 4                       ? CodeKind::Int4
               : values.dtype == DType::F8E4M3 ? CodeKind::E4M3
                                               : CodeKind::Int8;
  codes.group = group;
  codes.groups = groups;
  codes.offsets = zero_layout != Zeros::Fixed;
  codes.ordered = order != nullptr;
  codes.table = int4_values(!codes.offsets);
  return codes;
}

void ScaledMatrix::read_codes(int row, int first, std::span<std::uint8_t> to) const {
  const std::byte* data = values.data;
  const std::size_t count = to.size();
  switch (layout) {
    case Values::Bytes:
      std::memcpy(to.data(), data + std::int64_t{row} * in + first, count);
      return;
    case Values::PackedRows: {
      const std::int64_t words = (std::int64_t{in} * bits + 31) / 32;
      const std::byte* line = data + row * words * 4;
      for (std::size_t i = 0; i < count; ++i)
        to[i] = static_cast<std::uint8_t>(field(line, first + static_cast<int>(i), 1, bits));
      break;
    }
    case Values::PackedInputs:
      for (std::size_t i = 0; i < count; ++i)
        to[i] = static_cast<std::uint8_t>(
            field(data + std::ptrdiff_t{row} * 4, first + static_cast<int>(i), out, bits));
      break;
    case Values::PackedOutputs: {
      const std::int64_t words = out / 8, column = row / 8;
      const int shift = 4 * kAwqPlace[row % 8];
      for (std::size_t i = 0; i < count; ++i)
        to[i] = static_cast<std::uint8_t>(
            (word(data, (first + static_cast<std::int64_t>(i)) * words + column) >> shift) & 15u);
      break;
    }
  }
  if (bits == 8)
    for (std::uint8_t& code : to) code = static_cast<std::uint8_t>(code - kByteShift);
}

void ScaledMatrix::read_scales(int row, std::span<float> to, std::span<float> offsets) const {
  const int shift = shift_of(*this);
  for (int g = 0; g < groups; ++g) {
    const float scale = scale_of(*this, row, g);
    to[static_cast<std::size_t>(g)] = scale;
    if (zero_layout != Zeros::Fixed)
      offsets[static_cast<std::size_t>(g)] =
          static_cast<float>(shift - zero_of(*this, row, g)) * scale;
  }
}

void ScaledMatrix::read_order(std::span<std::int32_t> to) const {
  if (order != nullptr) {
    std::memcpy(to.data(), order, to.size_bytes());
  } else {
    for (std::size_t j = 0; j < to.size(); ++j) to[j] = static_cast<std::int32_t>(j) / group;
  }
}

void ScaledMatrix::read(int row, int first, std::span<float> to) const {
  constexpr std::size_t kPiece = 256;
  std::uint8_t piece[kPiece];
  const int shift = shift_of(*this);
  const bool fp8 = values.dtype == DType::F8E4M3;
  int known = -1, zero = 0;
  float scale = 0;
  for (std::size_t done = 0; done < to.size(); done += kPiece) {
    const auto part = std::span(piece).first(std::min(kPiece, to.size() - done));
    const int start = first + static_cast<int>(done);
    read_codes(row, start, part);
    for (std::size_t i = 0; i < part.size(); ++i) {
      const int column = start + static_cast<int>(i);
      const int g = order ? static_cast<int>(word(order, column)) : column / group;
      if (g != known) {
        known = g;
        scale = scale_of(*this, row, g);
        zero = zero_of(*this, row, g) - shift;
      }
      const int code = bits == 4 ? part[i] : static_cast<std::int8_t>(part[i]);
      to[done + i] = (fp8 ? from_e4m3(part[i]) : static_cast<float>(code - zero)) * scale;
    }
  }
}

}  // namespace counterbeam
