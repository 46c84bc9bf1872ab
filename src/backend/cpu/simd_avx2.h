// The vector type of AVX2 with FMA: eight floats. Include only from files compiled for it.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace counterbeam {

struct Avx2Simd {
  static constexpr int kWidth = 8;
  static constexpr int kRows = 4;
  static constexpr bool kDotsPairs = false;
  using F = __m256;

  static __m256i lanes_below(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }

  static F zero() { return _mm256_setzero_ps(); }
  static F set1(float x) { return _mm256_set1_ps(x); }
  static F load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, F x) { _mm256_storeu_ps(to, x); }
  static F load_part(const float* from, int count) {
    return _mm256_maskload_ps(from, lanes_below(count));
  }
  static void store_part(float* to, int count, F x) {
    _mm256_maskstore_ps(to, lanes_below(count), x);
  }
  static F first(int count, F a, F b) {
    return _mm256_blendv_ps(b, a, _mm256_castsi256_ps(lanes_below(count)));
  }

  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F inverse(F x) { return _mm256_div_ps(set1(1.0f), x); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F max(F a, F b) { return _mm256_max_ps(a, b); }
  static F min(F a, F b) { return _mm256_min_ps(a, b); }
  // x - floor(x)
  static F fraction(F x) { return sub(x, _mm256_floor_ps(x)); }
  // x * 2^floor(n), 0 where n < -126. REQUIRES n < 128.
  static F scale(F x, F n) {
    const F low = set1(-126.0f);
    const __m256i whole = _mm256_cvtps_epi32(_mm256_floor_ps(max(low, n)));
    const __m256i exponent = _mm256_slli_epi32(_mm256_add_epi32(whole, _mm256_set1_epi32(127)), 23);
    const F scaled = mul(x, _mm256_castsi256_ps(exponent));
    return _mm256_andnot_ps(_mm256_cmp_ps(n, low, _CMP_LT_OQ), scaled);
  }
  static float sum(F x) {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_shuffle_ps(half, half, 1)));
  }
  static float largest(F x) {
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_shuffle_ps(half, half, 1)));
  }

  // The bits of x rounded to bf16, in the upper halves of the lanes.
  static __m256i rounded_bits(F x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i near = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256 nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    return _mm256_blendv_epi8(near, _mm256_set1_epi32(0x7fc00000), _mm256_castps_si256(nan));
  }
  static void store_bf16(std::uint16_t* to, F x) {
    const __m256i high = _mm256_srli_epi32(rounded_bits(x), 16);
    const __m128i packed =
        _mm_packus_epi32(_mm256_castsi256_si128(high), _mm256_extracti128_si256(high, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), packed);
  }
  static F round_bf16(F x) {
    return _mm256_castsi256_ps(
        _mm256_and_si256(rounded_bits(x), _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
  }
  static F lower(const std::uint32_t* pairs) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(pairs)), 16));
  }
  static F upper(const std::uint32_t* pairs) {
    return _mm256_castsi256_ps(
        _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(pairs)),
                         _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
  }

  static __m128i eight(const std::uint8_t* from) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  }
  static F bytes(const std::uint8_t* from) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(eight(from)));
  }
  // Sign, exponent and fraction moved to their places in a half-precision number.
  static F fp8(const std::uint8_t* from) {
    const __m128i wide = _mm_cvtepu8_epi16(eight(from));
    const __m128i sign = _mm_and_si128(_mm_slli_epi16(wide, 8), _mm_set1_epi16(-32768));
    const __m128i rest = _mm_and_si128(_mm_slli_epi16(wide, 7), _mm_set1_epi16(0x3f80));
    return _mm256_cvtph_ps(_mm_or_si128(sign, rest));
  }
  static F lookup(const std::uint8_t* from, bool upper, const float* values) {
    __m256i index = _mm256_cvtepu8_epi32(eight(from));
    if (upper) index = _mm256_srli_epi32(index, 4);
    const F low = _mm256_permutevar8x32_ps(load(values), index);
    const F high = _mm256_permutevar8x32_ps(load(values + 8), index);
    return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(index, 28)));
  }
  static F twice(const float* from) {
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(from)),
                                    _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
  }
};

}  // namespace counterbeam
