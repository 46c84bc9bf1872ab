// Rows in 8 bits (--activations int8): the definition of their product with quantised weights.
// Every back end that offers it computes the same integers.
//
// The inputs of a row are taken in chunks. A chunk has one float32 scale, its largest magnitude /
// 127, and whole numbers q from -127 to 127: input * (127 / largest), rounded to nearest, ties to
// even, each operation in float32. A chunk lies in one group of weights, which are
// value * scale + offset with whole values, and contributes to an output
//   sum(q * value) * (scale of the chunk * scale of the weights)
//     + sum(q) * scale of the chunk * offset of the weights.
// Both sums are exact in int32; the rest is float32, chunks in ascending order. A chunk with a NaN
// or an infinity has the scale NaN and zeros, one below 2^-100 the scale zero. A row's numbers
// depend on that row alone.
//
// Without the option, a CPU with AVX-512 VNNI computes bf16 models in the same way with rows in 16
// bits: 32639 in place of 127, since a number is 256 times a signed byte plus another.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "backend/code_form.h"

namespace counterbeam {

// How the codes of a form are whole numbers: value = code + 128 or table[code] (as unsigned bytes)
// - zero.
struct WholeCodes {
  int chunk = 0;  // inputs of a row that share a scale: 16 to 128, a multiple of 16
  int zero = 0;
  bool lookup = false;                   // Int4: through the table; else the code itself
  std::array<std::uint8_t, 16> table{};  // Int4
};

inline constexpr int kLongestChunk = 128;

// None if products of this form do not take rows in 8 bits: FP8, groups in any order, and tables
// with values that are not whole or beyond -128 to 127.
std::optional<WholeCodes> whole_codes(const CodeForm& form);

// Quantises one chunk and returns its scale. REQUIRES to.size() == x.size().
float quantise_chunk(std::span<const float> x, std::span<std::int8_t> to);
float quantise_chunk(std::span<const float> x, std::span<std::int16_t> to);

}  // namespace counterbeam
