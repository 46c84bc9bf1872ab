// The vector type in plain C++, eight floats: for machines without AVX2, and the definition of the
// operations that simd_avx2.h and simd_avx512.h provide under the same names. Kernels are templates
// over the vector type, since a function that is not inlined must not be shared between files that
// are compiled for different instruction sets.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace counterbeam {

struct GenericSimd {
  static constexpr int kWidth = 8;
  static constexpr int kRows = 4;            // rows of one product block
  static constexpr bool kDotsPairs = false;  // has a dot product of bf16 pairs
  struct F {
    float v[kWidth];
  };

  template <typename Op>
  static F map(Op op) {
    F out;
    for (int i = 0; i < kWidth; ++i) out.v[i] = op(i);
    return out;
  }

  static F zero() { return set1(0); }
  static F set1(float x) {
    return map([&](int) { return x; });
  }
  static F load(const float* from) {
    return map([&](int i) { return from[i]; });
  }
  static void store(float* to, F x) { std::memcpy(to, x.v, sizeof x.v); }
  // The first `count` lanes; the others are zero.
  static F load_part(const float* from, int count) {
    return map([&](int i) { return i < count ? from[i] : 0.0f; });
  }
  static void store_part(float* to, int count, F x) {
    for (int i = 0; i < kWidth && i < count; ++i) to[i] = x.v[i];
  }
  // Lanes below `count` from a, the others from b.
  static F first(int count, F a, F b) {
    return map([&](int i) { return i < count ? a.v[i] : b.v[i]; });
  }

  static F add(F a, F b) {
    return map([&](int i) { return a.v[i] + b.v[i]; });
  }
  static F sub(F a, F b) {
    return map([&](int i) { return a.v[i] - b.v[i]; });
  }
  static F mul(F a, F b) {
    return map([&](int i) { return a.v[i] * b.v[i]; });
  }
  static F inverse(F x) {
    return map([&](int i) { return 1.0f / x.v[i]; });
  }
  static F fma(F a, F b, F c) {  // a * b + c
    return map([&](int i) { return a.v[i] * b.v[i] + c.v[i]; });
  }
  // b if either is NaN.
  static F max(F a, F b) {
    return map([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
  }
  static F min(F a, F b) {
    return map([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
  }
  static float floor_of(float x) {
    constexpr float kShift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
    const float near = (x + kShift) - kShift;
    return near > x ? near - 1 : near;
  }
  // x - floor(x). Unspecified for |x| >= 2^22.
  static F fraction(F x) {
    return map([&](int i) { return x.v[i] - floor_of(x.v[i]); });
  }
  // x * 2^floor(n), 0 where n < -126. REQUIRES n < 128, infinite or NaN; the latter two are kept.
  static F scale(F x, F n) {
    return map([&](int i) {
      if (n.v[i] < -126.0f) return 0.0f;
      if (!(n.v[i] < 128.0f)) return n.v[i];
      const int exponent = static_cast<int>(floor_of(n.v[i])) + 127;
      return x.v[i] * std::bit_cast<float>(static_cast<std::uint32_t>(exponent) << 23);
    });
  }
  static float sum(F x) {
    return ((x.v[0] + x.v[4]) + (x.v[2] + x.v[6])) + ((x.v[1] + x.v[5]) + (x.v[3] + x.v[7]));
  }
  static float largest(F x) {
    float best = x.v[0];
    for (int i = 1; i < kWidth; ++i) best = x.v[i] > best ? x.v[i] : best;
    return best;
  }

  // Rounded to bf16, nearest even; a NaN stays one.
  static std::uint16_t bf16(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;
    return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  }
  static void store_bf16(std::uint16_t* to, F x) {
    for (int i = 0; i < kWidth; ++i) to[i] = bf16(x.v[i]);
  }
  static F round_bf16(F x) {
    return map([&](int i) { return std::bit_cast<float>(std::uint32_t{bf16(x.v[i])} << 16); });
  }
  // Pairs of bf16, one pair per column: the lower and the upper one as floats.
  static F lower(const std::uint32_t* pairs) {
    return map([&](int i) { return std::bit_cast<float>(pairs[i] << 16); });
  }
  static F upper(const std::uint32_t* pairs) {
    return map([&](int i) { return std::bit_cast<float>(pairs[i] & 0xffff0000u); });
  }

  // Codes of weights, one per byte: signed bytes; FP8 (E4M3) times 2^-8; and the lower or upper
  // four bits as an index into a table of 16.
  static F bytes(const std::uint8_t* from) {
    return map([&](int i) { return static_cast<float>(static_cast<std::int8_t>(from[i])); });
  }
  static F fp8(const std::uint8_t* from) {
    return map([&](int i) {
      const std::uint32_t sign = std::uint32_t{from[i] & 0x80u} << 24, rest = from[i] & 0x7fu;
      const float tiny = static_cast<float>(rest) * 0x1p-17f;
      return std::bit_cast<float>(
          sign | (rest >= 8 ? (rest << 20) + (112u << 23) : std::bit_cast<std::uint32_t>(tiny)));
    });
  }
  static F lookup(const std::uint8_t* from, bool upper, const float* values) {
    return map([&](int i) { return values[upper ? from[i] >> 4 : from[i] & 15]; });
  }
  // Every one of kWidth / 2 numbers twice.
  static F twice(const float* from) {
    return map([&](int i) { return from[i / 2]; });
  }
};

}  // namespace counterbeam
