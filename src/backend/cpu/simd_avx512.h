// The vector type of AVX-512 (F, BW, DQ, VL): 16 floats. Avx512Bf16Simd adds the dot product of
// bf16 pairs. Include only from files compiled for them.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace counterbeam {

struct Avx512Simd {
  static constexpr int kWidth = 16;
  static constexpr int kRows = 12;
  static constexpr bool kDotsPairs = false;
  using F = __m512;

  static __mmask16 lanes_below(int count) {
    return static_cast<__mmask16>(count >= 16 ? 0xffff : (1 << (count < 0 ? 0 : count)) - 1);
  }

  static F zero() { return _mm512_setzero_ps(); }
  static F set1(float x) { return _mm512_set1_ps(x); }
  static F load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, F x) { _mm512_storeu_ps(to, x); }
  static F load_part(const float* from, int count) {
    return _mm512_maskz_loadu_ps(lanes_below(count), from);
  }
  static void store_part(float* to, int count, F x) {
    _mm512_mask_storeu_ps(to, lanes_below(count), x);
  }
  static F first(int count, F a, F b) { return _mm512_mask_blend_ps(lanes_below(count), b, a); }

  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  // An estimate and one Newton step, within two ulps: a division would take 16 cycles.
  static F inverse(F x) {
    const F near = _mm512_rcp14_ps(x);
    return _mm512_fmadd_ps(near, _mm512_fnmadd_ps(x, near, set1(1.0f)), near);
  }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static F min(F a, F b) { return _mm512_min_ps(a, b); }
  // x - floor(x)
  static F fraction(F x) { return _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
  // x * 2^floor(n), 0 where n < -126.
  static F scale(F x, F n) {
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(n, set1(-126.0f), _CMP_NLT_UQ), x, n);
  }
  static float sum(F x) { return _mm512_reduce_add_ps(x); }
  static float largest(F x) { return _mm512_reduce_max_ps(x); }

  static __m512i rounded_bits(F x) {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i near = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_mask_mov_epi32(near, nan, _mm512_set1_epi32(0x7fc00000));
  }
  static void store_bf16(std::uint16_t* to, F x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded_bits(x), 16)));
  }
  static F round_bf16(F x) {
    return _mm512_castsi512_ps(
        _mm512_and_si512(rounded_bits(x), _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
  }
  static F lower(const std::uint32_t* pairs) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(pairs), 16));
  }
  static F upper(const std::uint32_t* pairs) {
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(pairs),
                                                _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
  }

  static __m128i sixteen(const std::uint8_t* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  static F bytes(const std::uint8_t* from) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(sixteen(from)));
  }
  // Sign, exponent and fraction moved to their places in a half-precision number.
  static F fp8(const std::uint8_t* from) {
    const __m256i wide = _mm256_cvtepu8_epi16(sixteen(from));
    const __m256i sign = _mm256_and_si256(_mm256_slli_epi16(wide, 8), _mm256_set1_epi16(-32768));
    const __m256i rest = _mm256_and_si256(_mm256_slli_epi16(wide, 7), _mm256_set1_epi16(0x3f80));
    return _mm512_cvtph_ps(_mm256_or_si256(sign, rest));
  }
  static F lookup(const std::uint8_t* from, bool upper, const float* values) {
    __m512i index = _mm512_cvtepu8_epi32(sixteen(from));
    if (upper) index = _mm512_srli_epi32(index, 4);
    return _mm512_permutexvar_ps(index, load(values));  // ignores the upper bits
  }
  static F twice(const float* from) {
    const __m512i index = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return _mm512_permutexvar_ps(index, _mm512_castps256_ps512(_mm256_loadu_ps(from)));
  }
};

#ifdef __AVX512BF16__
struct Avx512Bf16Simd : Avx512Simd {
  static constexpr bool kDotsPairs = true;
  using Pairs = __m512i;

  static Pairs load_pairs(const std::uint32_t* from) { return _mm512_loadu_si512(from); }
  static Pairs set1_pairs(std::uint32_t pair) { return _mm512_set1_epi32(static_cast<int>(pair)); }
  static Pairs lower_only(Pairs pairs) {
    return _mm512_and_si512(pairs, _mm512_set1_epi32(0xffff));
  }
  // sum + x.upper * w.upper + x.lower * w.lower
  static F dot(F sum, Pairs x, Pairs w) { return _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)w); }
  static void store_bf16(std::uint16_t* to, F x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), (__m256i)_mm512_cvtneps_pbh(x));
  }
};
#endif

}  // namespace counterbeam
