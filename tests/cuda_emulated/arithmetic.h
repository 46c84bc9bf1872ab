// Arithmetic of the GPU on pairs of bf16, rounded once, with subnormal numbers.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace counterbeam::emulated {

// x rounded to bf16.
inline std::uint32_t round_to_bf16(double x) {
  if (std::isnan(x)) return 0x7fff;
  const double size = std::abs(x);
  if (size < 0x1p-126) {
    x = std::nearbyint(x * 0x1p133) * 0x1p-133;
  } else if (size < 0x1p128) {
    auto bits = std::bit_cast<std::uint64_t>(x);
    bits += (std::uint64_t{1} << 44) - 1 + (bits >> 45 & 1);
    x = std::bit_cast<double>(bits >> 45 << 45);
  }
  return std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> 16;
}

inline double upper_of(std::uint32_t pair) {
  return double(std::bit_cast<float>(pair & 0xffff0000u));
}
inline double lower_of(std::uint32_t pair) {
  return double(std::bit_cast<float>(pair << 16));
}

// a b + c for bf16 numbers, rounded to odd, so that rounding it again to bf16 is rounding once.
inline double fma_to_odd(double a, double b, double c) {
  const double product = a * b, sum = product + c;  // the product is exact
  const double of_c = sum - product, error = (product - (sum - of_c)) + (c - of_c);
  const auto bits = std::bit_cast<std::int64_t>(sum);
  if (error == 0 || !std::isfinite(error) || (bits & 1) != 0) return sum;
  return std::bit_cast<double>(bits + ((error > 0) == (sum > 0) ? 1 : -1));
}

inline std::uint32_t fma_pairs(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return round_to_bf16(fma_to_odd(lower_of(a), lower_of(b), lower_of(c))) |
         round_to_bf16(fma_to_odd(upper_of(a), upper_of(b), upper_of(c))) << 16;
}
inline std::uint32_t add_pairs(std::uint32_t a, std::uint32_t b) {
  return fma_pairs(a, 0x3f803f80, b);
}
inline std::uint32_t multiply_pairs(std::uint32_t a, std::uint32_t b) {
  return fma_pairs(a, b, 0x80008000);
}

}  // namespace counterbeam::emulated
