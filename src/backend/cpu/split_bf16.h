// Floats split into the sum of two bf16 numbers (16 bits of significand), two rows interleaved in
// the layout of tile weights: a lane is a pair, the even row's number in the lower half. Include
// only from files compiled for AVX-512.
#pragma once

#include "backend/cpu/simd_avx512.h"

namespace counterbeam {

struct SplitBf16 {
  using S = Avx512Simd;
  using F = S::F;

  // `upper` gets x rounded towards zero to bf16, `rest` the remainder, rounded; 16 pairs each.
  static void split(F even, F odd, float* upper, float* rest) {
    pair_up(_mm512_castps_si512(even), _mm512_castps_si512(odd), upper);
    pair_up(rest_of(even), rest_of(odd), rest);
  }
  static F even(const float* upper, const float* rest) {
    return S::add(S::lower(pairs(upper)), S::lower(pairs(rest)));
  }
  static F odd(const float* upper, const float* rest) {
    return S::add(S::upper(pairs(upper)), S::upper(pairs(rest)));
  }

 private:
  static const std::uint32_t* pairs(const float* from) {
    return reinterpret_cast<const std::uint32_t*>(from);
  }
  // The upper halves of both.
  static void pair_up(__m512i even, __m512i odd, float* to) {
    alignas(64) static constexpr std::uint16_t kUpperHalves[32] = {
        1,  33, 3,  35, 5,  37, 7,  39, 9,  41, 11, 43, 13, 45, 15, 47,
        17, 49, 19, 51, 21, 53, 23, 55, 25, 57, 27, 59, 29, 61, 31, 63};
    const __m512i halves = _mm512_load_si512(kUpperHalves);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(even, halves, odd));
  }
  static __m512i rest_of(F x) {
    const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    const F cut = _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(x), upper));
    return _mm512_add_epi32(_mm512_castps_si512(S::sub(x, cut)), _mm512_set1_epi32(0x8000));
  }
};

}  // namespace counterbeam
