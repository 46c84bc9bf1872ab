// What products of rows in 8 bits need beside the float operations of a vector type (Simd), for the
// instruction set that the including file is compiled for. I holds the sums of Simd::kWidth columns
// in int32; Weights are a line of their codes, unsigned bytes, four inputs per column; Input is
// four inputs of a row for every column. dot() is exact.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __AVX512BW__
#include "backend/cpu/simd_avx512.h"
#elif defined __AVX2__
#include "backend/cpu/simd_avx2.h"
#else
#include "backend/cpu/simd_generic.h"
#endif

namespace counterbeam {

#ifdef __AVX512BW__
// Through 16 bits: without vpdpbusd, sums of unsigned and signed bytes would saturate.
struct Int8Avx512 {
  using Simd = Avx512Simd;
  static constexpr int kRows = 8;
  using I = __m512i;
  struct Weights {
    __m512i even, odd;  // inputs 0 and 2, 1 and 3, in 16 bits
  };
  using Input = Weights;

  static I set1(std::int32_t x) { return _mm512_set1_epi32(x); }
  static I add(I a, I b) { return _mm512_add_epi32(a, b); }
  static Simd::F to_float(I x) { return _mm512_cvtepi32_ps(x); }
  static I four(const std::int8_t* from) {
    std::int32_t word;
    std::memcpy(&word, from, 4);
    return _mm512_set1_epi32(word);
  }
  static I load(const std::uint8_t* from) { return _mm512_loadu_si512(from); }
  static I low_half(I bytes) { return _mm512_and_si512(bytes, _mm512_set1_epi8(15)); }
  static I high_half(I bytes) { return low_half(_mm512_srli_epi16(bytes, 4)); }
  static I table(const std::uint8_t* from) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static I lookup(I table, I index) { return _mm512_shuffle_epi8(table, index); }
  static Weights weights(I bytes) {
    return {_mm512_and_si512(bytes, _mm512_set1_epi16(255)), _mm512_srli_epi16(bytes, 8)};
  }
  static Input input(const std::int8_t* from) {
    const I x = four(from);
    return {_mm512_srai_epi16(_mm512_slli_epi16(x, 8), 8), _mm512_srai_epi16(x, 8)};
  }
  static I dot(I sum, const Input& x, const Weights& w) {
    sum = _mm512_add_epi32(sum, _mm512_madd_epi16(x.even, w.even));
    return _mm512_add_epi32(sum, _mm512_madd_epi16(x.odd, w.odd));
  }
  // The lowest byte of every float.
  static void store_bytes(std::int8_t* to, Simd::F x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(_mm512_castps_si512(x)));
  }
  // The two lowest bytes, the lower one less 128.
  static void store_digits(std::int8_t* upper, std::int8_t* lower, Simd::F x) {
    const I bits = _mm512_castps_si512(x);
    const __m128i low = _mm512_cvtepi32_epi8(bits);
    const __m128i high = _mm512_cvtepi32_epi8(_mm512_srli_epi32(bits, 8));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(upper), high);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(lower), _mm_xor_si128(low, _mm_set1_epi8(-128)));
  }
  static I times_256(I x) { return _mm512_slli_epi32(x, 8); }
};
#elif defined __AVX2__
struct Int8Avx2 {
  using Simd = Avx2Simd;
  static constexpr int kRows = 3;
  using I = __m256i;
  struct Weights {
    __m256i even, odd;
  };
  using Input = Weights;

  static I set1(std::int32_t x) { return _mm256_set1_epi32(x); }
  static I add(I a, I b) { return _mm256_add_epi32(a, b); }
  static Simd::F to_float(I x) { return _mm256_cvtepi32_ps(x); }
  static I four(const std::int8_t* from) {
    std::int32_t word;
    std::memcpy(&word, from, 4);
    return _mm256_set1_epi32(word);
  }
  static I load(const std::uint8_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  }
  static I low_half(I bytes) { return _mm256_and_si256(bytes, _mm256_set1_epi8(15)); }
  static I high_half(I bytes) { return low_half(_mm256_srli_epi16(bytes, 4)); }
  static I table(const std::uint8_t* from) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static I lookup(I table, I index) { return _mm256_shuffle_epi8(table, index); }
  static Weights weights(I bytes) {
    return {_mm256_and_si256(bytes, _mm256_set1_epi16(255)), _mm256_srli_epi16(bytes, 8)};
  }
  static Input input(const std::int8_t* from) {
    const I x = four(from);
    return {_mm256_srai_epi16(_mm256_slli_epi16(x, 8), 8), _mm256_srai_epi16(x, 8)};
  }
  static I dot(I sum, const Input& x, const Weights& w) {
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(x.even, w.even));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(x.odd, w.odd));
  }
  static void store_bytes(std::int8_t* to, Simd::F x) {
    const __m256i low = _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(255));
    const __m128i words =
        _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
  }
};
#else
struct Int8Generic {
  using Simd = GenericSimd;
  static constexpr int kRows = 4;
  struct I {
    std::int32_t v[Simd::kWidth];
  };
  struct Weights {
    std::uint8_t v[4 * Simd::kWidth];
  };
  struct Input {
    std::int8_t v[4];
  };

  static I set1(std::int32_t x) {
    I out;
    for (std::int32_t& v : out.v) v = x;
    return out;
  }
  static I add(I a, const I& b) {
    for (int i = 0; i < Simd::kWidth; ++i) a.v[i] += b.v[i];
    return a;
  }
  static Simd::F to_float(const I& x) {
    return Simd::map([&](int i) { return static_cast<float>(x.v[i]); });
  }
  static Weights load(const std::uint8_t* from) {
    Weights out;
    std::memcpy(out.v, from, sizeof out.v);
    return out;
  }
  static Weights low_half(Weights bytes) {
    for (std::uint8_t& v : bytes.v) v &= 15;
    return bytes;
  }
  static Weights high_half(Weights bytes) {
    for (std::uint8_t& v : bytes.v) v = static_cast<std::uint8_t>(v >> 4);
    return bytes;
  }
  static const std::uint8_t* table(const std::uint8_t* from) { return from; }
  static Weights lookup(const std::uint8_t* table, Weights index) {
    for (std::uint8_t& v : index.v) v = table[v];
    return index;
  }
  static const Weights& weights(const Weights& bytes) { return bytes; }
  static Input input(const std::int8_t* from) {
    Input out;
    std::memcpy(out.v, from, sizeof out.v);
    return out;
  }
  static I dot(I sum, const Input& x, const Weights& w) {
    for (int i = 0; i < Simd::kWidth; ++i)
      for (int j = 0; j < 4; ++j) sum.v[i] += x.v[j] * w.v[4 * i + j];
    return sum;
  }
  static void store_bytes(std::int8_t* to, const Simd::F& x) {
    for (int i = 0; i < Simd::kWidth; ++i)
      to[i] = static_cast<std::int8_t>(std::bit_cast<std::uint32_t>(x.v[i]));
  }
};
#endif

#ifdef __AVX512VNNI__
struct Int8Vnni512 : Int8Avx512 {
  using Weights = __m512i;
  using Input = __m512i;
  static Weights weights(I bytes) { return bytes; }
  static Input input(const std::int8_t* from) { return four(from); }
  static I dot(I sum, Input x, Weights w) { return _mm512_dpbusd_epi32(sum, w, x); }
};
#endif

#ifdef __AVXVNNI__
struct Int8Vnni256 : Int8Avx2 {
  static constexpr int kRows = 4;
  using Weights = __m256i;
  using Input = __m256i;
  static Weights weights(I bytes) { return bytes; }
  static Input input(const std::int8_t* from) { return four(from); }
  static I dot(I sum, Input x, Weights w) { return _mm256_dpbusd_avx_epi32(sum, w, x); }
};
#endif

}  // namespace counterbeam
