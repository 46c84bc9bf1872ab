// Element types of safetensors, and conversion between them and float32. A file may contain any of
// them; all can be converted to float32 except C64 and floats of 8 bits or fewer.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace counterbeam {

enum class DType : std::uint8_t {
  Bool,
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  U64,
  I64,
  BF16,
  F16,
  F32,
  F64,
  F8E5M2,
  F8E4M3,
  F8E8M0,
  F8E4M3Fnuz,
  F8E5M2Fnuz,
  F4,
  F6E2M3,
  F6E3M2,
  C64,
};

int bits_of(DType dtype);
std::string_view name_of(DType dtype);  // as in a safetensors header
std::optional<DType> dtype_named(std::string_view name);
std::string all_dtype_names();  // "BOOL, U8, ...", for messages

// Bytes per element. REQUIRES: a dtype of at least 8 bits.
std::size_t bytes_of(DType dtype);

inline float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

// Rounds to nearest, ties to even; a NaN becomes a quiet NaN.
inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float from_f16(std::uint16_t bits);
std::uint16_t to_f16(float value);  // nearest, ties to even

// Whether to_f32 accepts this dtype.
bool converts_to_f32(DType dtype);

// Converts the elements at `from`, which may be unaligned. REQUIRES: converts_to_f32(dtype).
void to_f32(DType dtype, const std::byte* from, std::span<float> to);

// Rounds float32 to `dtype`. REQUIRES: F32, BF16 or F16. `to` may be unaligned.
void from_f32(std::span<const float> from, DType dtype, std::byte* to);

}  // namespace counterbeam
