// KV caches of 8 bits. The keys, or the values, of one token and one head are stored as a code per
// number, FP8 (E4M3) or int8, and one float32 scale; a number is read as code * scale. The scale
// puts the largest of the numbers at the largest code. So what is stored for a token depends on it
// alone, not on its batch, its page or what was stored before.
//
// A number that is not finite makes the scale NaN: all of that head is then read as NaN, and never
// as finite numbers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>

#include "backend/shapes.h"
#include "tensor/float8.h"

namespace counterbeam {

inline constexpr float kLargestInt8Code = 127, kLargestFp8Code = 448;
// Heads whose numbers are all smaller are stored as zeros, so that 1 / scale is a number.
inline constexpr float kSmallestCoded = 0x1p-100f;

// As options and run.json name it; empty for Plain.
constexpr std::string_view name_of(CacheType type) {
  return type == CacheType::Fp8 ? "fp8" : type == CacheType::Int8 ? "int8" : "";
}

constexpr float largest_code(CacheType type) {
  return type == CacheType::Int8 ? kLargestInt8Code : kLargestFp8Code;
}

// The codes of `count` numbers. REQUIRES a type that is not Plain.
class HeadCoder {
 public:
  HeadCoder(CacheType type, const float* numbers, int count) : type_(type) {
    constexpr std::uint32_t kInfinity = 0x7f800000u;
    std::uint32_t largest = 0;
    for (int i = 0; i < count; ++i)
      largest = std::max(largest, std::bit_cast<std::uint32_t>(numbers[i]) & 0x7fffffffu);
    if (largest >= kInfinity) {
      scale_ = std::numeric_limits<float>::quiet_NaN();
    } else if (const auto size = std::bit_cast<float>(largest); size >= kSmallestCoded) {
      scale_ = size / largest_code(type);
      inverse_ = 1.0f / scale_;
    }
  }

  float scale() const { return scale_; }

  // REQUIRES one of the numbers.
  std::uint8_t code(float number) const {
    if (inverse_ == 0) return 0;
    const float steps = number * inverse_;
    if (type_ == CacheType::Fp8) return to_e4m3(steps);
    constexpr float kShift =
        12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, ties to even
    const float whole = std::clamp((steps + kShift) - kShift, -kLargestInt8Code, kLargestInt8Code);
    return static_cast<std::uint8_t>(static_cast<std::int8_t>(whole));
  }

 private:
  CacheType type_;
  float scale_ = 0, inverse_ = 0;
};

// What a code stands for, before the scale.
inline float code_value(CacheType type, std::uint8_t code) {
  return type == CacheType::Int8 ? static_cast<float>(static_cast<std::int8_t>(code))
                                 : from_e4m3(code);
}

}  // namespace counterbeam
