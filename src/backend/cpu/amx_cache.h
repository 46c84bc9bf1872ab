// Decodes the keys and values of a page of codes into bf16 panels for tiles: code times scale in
// float32, rounded once. Include only from files compiled for AMX.
#pragma once

#include <cstring>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_avx512.h"

namespace counterbeam {

class AmxCache {
 public:
  using S = Avx512Bf16Simd;
  using F = S::F;

  // The keys of a head of `width` (padded) columns, [width / 2][kPanel tokens][2].
  static void keys(CacheType type, const std::byte* half, int width, std::byte* to) {
    const float* scales = scales_of(half);
    const F of_columns[4] = {S::twice(scales), S::twice(scales + 8), S::twice(scales + 16),
                             S::twice(scales + 24)};
    const std::uint8_t* codes = codes_of(half);
    for (int pair = 0; pair < width / 2; ++pair, codes += 2 * kPanel, to += kLineBytes)
      line(type, codes, of_columns, to);
  }

  // The values, [width / kPanel][kPanel / 2 pairs of tokens][kPanel][2], with zeros for tokens from
  // `tokens` on: their memory may hold anything.
  static void values(CacheType type, const std::byte* half, int width, int tokens, std::byte* to) {
    float scales[kPanel];
    std::memcpy(scales, half, sizeof scales);
    for (int t = tokens; t < kPanel; ++t) scales[t] = 0;
    const std::uint8_t* codes = codes_of(half);
    for (int panel = 0; panel < width / kPanel; ++panel) {
      for (int t = 0; t < kPanel; t += 2, codes += 2 * kPanel, to += kLineBytes) {
        long long two = 0;
        std::memcpy(&two, scales + t, sizeof two);
        const F both = _mm512_castsi512_ps(_mm512_set1_epi64(two));
        const F of_columns[4] = {both, both, both, both};
        line(type, codes, of_columns, to);
      }
    }
  }

 private:
  static constexpr int kLineBytes = 2 * kPanel * 2;

  static const float* scales_of(const std::byte* half) {
    return reinterpret_cast<const float*>(half);
  }
  static const std::uint8_t* codes_of(const std::byte* half) {
    return reinterpret_cast<const std::uint8_t*>(half + kScaleBytes);
  }

  // Two lines of kPanel codes, interleaved.
  static void line(CacheType type, const std::uint8_t* codes, const F (&scales)[4], std::byte* to) {
    auto* out = reinterpret_cast<std::uint16_t*>(to);
    for (int i = 0; i < 2; ++i) {
      const __m128i even = S::sixteen(codes + i * 16), odd = S::sixteen(codes + kPanel + i * 16);
      const __m128i lower = _mm_unpacklo_epi8(even, odd), upper = _mm_unpackhi_epi8(even, odd);
      S::store_bf16(out + i * 32, S::mul(numbers(type, lower), scales[2 * i]));
      S::store_bf16(out + i * 32 + 16, S::mul(numbers(type, upper), scales[2 * i + 1]));
    }
  }

  static F numbers(CacheType type, __m128i codes) {
    alignas(16) std::uint8_t bytes[16];
    _mm_store_si128(reinterpret_cast<__m128i*>(bytes), codes);
    return type == CacheType::Fp8 ? S::fp8(bytes) : S::bytes(bytes);
  }
};

}  // namespace counterbeam
