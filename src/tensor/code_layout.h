// How a quantised matrix is made of small codes: element j of a row is
//   value(code[j]) * scale[group(j)] + offset[group(j)]
// with the scales and offsets of its row. Every quantised alternative of StoredMatrix describes
// itself in these terms, whatever its bytes look like, so a back end that multiplies by codes has
// one packed form for all of them. Scales and offsets are float32: exact wherever the file's are.
#pragma once

#include <array>
#include <cstdint>

namespace counterbeam {

enum class CodeKind : std::uint8_t {
  Int4,  // 0 to 15; CodeLayout::table has the values
  Int8,  // two's complement
  E4M3,  // FP8 with a bias of 7; 0x7f and 0xff are NaN
};

struct CodeLayout {
  CodeKind kind = CodeKind::Int8;
  int group = 0;         // inputs of a group: group(j) = j / group, and the last one may be short
  int groups = 0;        // of a row
  bool offsets = false;  // false: all offsets are zero
  bool ordered = false;  // true: group(j) is any group; StoredMatrix::read_order() says which
  std::array<float, 16> table{};  // Int4: the value of each code
};

// The values -8 to 7, and 0 to 15.
constexpr std::array<float, 16> int4_values(bool centred) {
  std::array<float, 16> values{};
  for (int code = 0; code < 16; ++code)
    values[static_cast<std::size_t>(code)] = static_cast<float>(code - (centred ? 8 : 0));
  return values;
}

}  // namespace counterbeam
