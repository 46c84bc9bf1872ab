#include "tensor/dtype.h"

#include <array>
#include <cstring>

#include "base/error.h"

namespace counterbeam {
namespace {

struct DTypeEntry {
  DType dtype;
  int bits;
  std::string_view name;
};

constexpr std::array kEntries{
    DTypeEntry{DType::Bool, 8, "BOOL"},
    DTypeEntry{DType::U8, 8, "U8"},
    DTypeEntry{DType::I8, 8, "I8"},
    DTypeEntry{DType::U16, 16, "U16"},
    DTypeEntry{DType::I16, 16, "I16"},
    DTypeEntry{DType::U32, 32, "U32"},
    DTypeEntry{DType::I32, 32, "I32"},
    DTypeEntry{DType::U64, 64, "U64"},
    DTypeEntry{DType::I64, 64, "I64"},
    DTypeEntry{DType::BF16, 16, "BF16"},
    DTypeEntry{DType::F16, 16, "F16"},
    DTypeEntry{DType::F32, 32, "F32"},
    DTypeEntry{DType::F64, 64, "F64"},
    DTypeEntry{DType::F8E5M2, 8, "F8_E5M2"},
    DTypeEntry{DType::F8E4M3, 8, "F8_E4M3"},
    DTypeEntry{DType::F8E8M0, 8, "F8_E8M0"},
    DTypeEntry{DType::F8E4M3Fnuz, 8, "F8_E4M3FNUZ"},
    DTypeEntry{DType::F8E5M2Fnuz, 8, "F8_E5M2FNUZ"},
    DTypeEntry{DType::F4, 4, "F4"},
    DTypeEntry{DType::F6E2M3, 6, "F6_E2M3"},
    DTypeEntry{DType::F6E3M2, 6, "F6_E3M2"},
    DTypeEntry{DType::C64, 64, "C64"},
};

const DTypeEntry& entry(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  CB_CHECK(index < kEntries.size() && kEntries[index].dtype == dtype);
  return kEntries[index];
}

template <typename T>
void numbers_to_f32(const std::byte* from, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    to[i] = static_cast<float>(value);
  }
}

template <typename Decode>
void halves_to_f32(const std::byte* from, std::span<float> to, Decode decode) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, from + i * 2, 2);
    to[i] = decode(bits);
  }
}

template <typename Encode>
void f32_to_halves(std::span<const float> from, std::byte* to, Encode encode) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::uint16_t bits = encode(from[i]);
    std::memcpy(to + i * 2, &bits, 2);
  }
}

}  // namespace

int bits_of(DType dtype) {
  return entry(dtype).bits;
}

std::size_t bytes_of(DType dtype) {
  CB_CHECK(bits_of(dtype) % 8 == 0);
  return static_cast<std::size_t>(bits_of(dtype)) / 8;
}

std::string_view name_of(DType dtype) {
  return entry(dtype).name;
}

std::optional<DType> dtype_named(std::string_view name) {
  for (const DTypeEntry& known : kEntries)
    if (known.name == name) return known.dtype;
  return std::nullopt;
}

std::string all_dtype_names() {
  std::string names;
  for (const DTypeEntry& known : kEntries) {
    if (!names.empty()) names += ", ";
    names += known.name;
  }
  return names;
}

float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu, fraction = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float tiny = static_cast<float>(fraction) * 0x1p-24f;
  return sign ? -tiny : tiny;
}

std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // >= 65520
  if (magnitude < 0x38800000u) {  // below the smallest normal half: adding 0.5 rounds at 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) & 0x7ffu));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

bool converts_to_f32(DType dtype) {
  return dtype <= DType::F64;
}

void to_f32(DType dtype, const std::byte* from, std::span<float> to) {
  switch (dtype) {
    case DType::Bool:
    case DType::U8:
      return numbers_to_f32<std::uint8_t>(from, to);
    case DType::I8:
      return numbers_to_f32<std::int8_t>(from, to);
    case DType::U16:
      return numbers_to_f32<std::uint16_t>(from, to);
    case DType::I16:
      return numbers_to_f32<std::int16_t>(from, to);
    case DType::U32:
      return numbers_to_f32<std::uint32_t>(from, to);
    case DType::I32:
      return numbers_to_f32<std::int32_t>(from, to);
    case DType::U64:
      return numbers_to_f32<std::uint64_t>(from, to);
    case DType::I64:
      return numbers_to_f32<std::int64_t>(from, to);
    case DType::BF16:
      return halves_to_f32(from, to, from_bf16);
    case DType::F16:
      return halves_to_f32(from, to, from_f16);
    case DType::F32:
      if (!to.empty()) std::memcpy(to.data(), from, to.size_bytes());
      return;
    case DType::F64:
      return numbers_to_f32<double>(from, to);
    default:
      break;
  }
  CB_CHECK(converts_to_f32(dtype));
}

void from_f32(std::span<const float> from, DType dtype, std::byte* to) {
  switch (dtype) {
    case DType::F32:
      if (!from.empty()) std::memcpy(to, from.data(), from.size_bytes());
      return;
    case DType::BF16:
      return f32_to_halves(from, to, to_bf16);
    case DType::F16:
      return f32_to_halves(from, to, to_f16);
    default:
      break;
  }
  CB_CHECK(dtype == DType::F32);
}

}  // namespace counterbeam
