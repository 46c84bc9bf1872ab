// Decodes codes without their scales: a code less its zero point is a small whole or FP8 number
// that bf16 holds exactly, so the scales can be applied to the sums of a group instead of to every
// weight. REQUIRES CodePanels::late. Include only from files compiled for AVX-512 BF16.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd_avx512.h"

namespace counterbeam {

class ExactCodes {
 public:
  using S = Avx512Bf16Simd;
  static constexpr int kStep = 32;                       // inputs decoded at a time
  static constexpr int kStepBytes = kStep * kPanel * 2;  // of bf16

  ExactCodes(const CodePanels& codes, const char* panel) : c_(codes), panel_(panel) {
    if (c_.kind == CodeKind::Int4) make_int4_table();
    if (c_.kind == CodeKind::E4M3) make_fp8_table();
  }

  int groups() const { return c_.groups; }
  int group_of(int input) const {
    return input / c_.group < c_.groups ? input / c_.group : c_.groups - 1;
  }
  // Where a group ends, a multiple of kStep.
  int group_end(int group) const {
    return group + 1 < c_.groups ? (group + 1) * c_.group : c_.depth;
  }
  // The scales of 16 columns, to be multiplied by sums of decoded numbers.
  S::F scales(int group, int columns) const {
    const S::F scale = S::load(head(group) + columns);
    return c_.kind == CodeKind::E4M3 ? S::mul(scale, S::set1(1.0f / 256)) : scale;
  }

  // Decodes kStep inputs of the panel. REQUIRES a multiple of kStep.
  void decode(int input, char* to) {
    const int group = group_of(input);
    if (c_.offsets && group != known_) take_zeros(group);
    const auto* codes = reinterpret_cast<const std::uint8_t*>(head(group)) + c_.head_bytes() +
                        c_.code_bytes(input - group * c_.group);
    switch (c_.kind) {
      case CodeKind::Int4:
        return c_.offsets ? int4<true>(codes, to) : int4<false>(codes, to);
      case CodeKind::Int8:
        return c_.offsets ? int8<true>(codes, to) : int8<false>(codes, to);
      case CodeKind::E4M3:
        return fp8(codes, to);
    }
  }

 private:
  static constexpr int kLines = kStep / 2;  // of 64 codes
  static constexpr int kFromMemory = 12288, kFromCache = 2048;

  const float* head(int group) const {
    const std::ptrdiff_t run = c_.head_bytes() + c_.code_bytes(c_.group);
    return reinterpret_cast<const float*>(panel_ + group * run);
  }
  static void fetch(const std::uint8_t* codes) {
    __builtin_prefetch(codes + kFromMemory, 0, 2);
    __builtin_prefetch(codes + kFromCache, 0, 3);
  }
  static __m256i half(const std::uint8_t* codes) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes));
  }
  static std::uint16_t bits(float value) {  // of a number that bf16 holds exactly
    return static_cast<std::uint16_t>(__builtin_bit_cast(std::uint32_t, value) >> 16);
  }

  // An index has five bits. Without zero points the upper one is of the other code, so the table is
  // there twice; with them an index is a signed number.
  void make_int4_table() {
    alignas(64) std::uint16_t table[32];
    for (int i = 0; i < 32; ++i)
      table[i] = bits(c_.offsets ? static_cast<float>(i < 16 ? i : i - 32) : c_.table[i % 16]);
    table_ = _mm512_load_si512(table);
  }
  void make_fp8_table() {
    alignas(64) std::uint16_t table[32];
    for (int i = 0; i < 32; ++i) table[i] = bits(static_cast<float>(i % 8) * 0x1p-9f);
    table_ = _mm512_load_si512(table);
  }

  // Zero points are -offset / scale; what comes of a scale of zero is multiplied by it.
  void take_zeros(int group) {
    known_ = group;
    const float* scale = head(group);
    for (int v = 0; v < 2; ++v) {
      const S::F zero = _mm512_div_ps(S::load(scale + kPanel + 16 * v), S::load(scale + 16 * v));
      const __m512i whole = _mm512_cvtps_epi32(S::sub(S::zero(), zero));
      const __m512i lower = _mm512_and_si512(whole, _mm512_set1_epi32(0xffff));
      zeros_[v] = _mm512_or_si512(lower, _mm512_slli_epi32(whole, 16));
    }
  }

  template <bool kZeros>
  void int4(const std::uint8_t* codes, char* to) const {
    const __m512i low = _mm512_set1_epi16(15);
    for (int pair = 0; pair < kLines / 2; ++pair, codes += 64, to += 256) {
      fetch(codes);
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) {
        const __m512i both = _mm512_cvtepu8_epi16(half(codes + 32 * v));
        __m512i first = both, second = _mm512_srli_epi16(both, 4);
        if constexpr (kZeros) {
          first = _mm512_sub_epi16(_mm512_and_si512(both, low), zeros_[v]);
          second = _mm512_sub_epi16(second, zeros_[v]);
        }
        _mm512_storeu_si512(to + 64 * v, _mm512_permutexvar_epi16(first, table_));
        _mm512_storeu_si512(to + 64 * v + 128, _mm512_permutexvar_epi16(second, table_));
      }
    }
  }

  template <bool kZeros>
  void int8(const std::uint8_t* codes, char* to) const {
    alignas(64) static constexpr std::uint16_t kUpperHalves[32] = {
        1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
        33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    const __m512i upper = _mm512_load_si512(kUpperHalves);
    for (int line = 0; line < kLines; ++line, codes += 64, to += 128) {
      fetch(codes);
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) {
        __m512i a = _mm512_cvtepi8_epi32(S::sixteen(codes + 32 * v));
        __m512i b = _mm512_cvtepi8_epi32(S::sixteen(codes + 32 * v + 16));
        if constexpr (kZeros) {
          a = _mm512_sub_epi32(a, _mm512_cvtepi16_epi32(_mm512_castsi512_si256(zeros_[v])));
          b = _mm512_sub_epi32(b, _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(zeros_[v], 1)));
        }
        const __m512i x = _mm512_castps_si512(_mm512_cvtepi32_ps(a));
        const __m512i y = _mm512_castps_si512(_mm512_cvtepi32_ps(b));
        _mm512_storeu_si512(to + 64 * v, _mm512_permutex2var_epi16(x, upper, y));
      }
    }
  }

  // Exponent and fraction move to their places, and the bias of the exponent grows by 120. Numbers
  // below the smallest normal one are looked up.
  void fp8(const std::uint8_t* codes, char* to) const {
    const __m512i magnitude = _mm512_set1_epi16(0x7f), bias = _mm512_set1_epi16(120 << 7);
    const __m512i sign = _mm512_set1_epi16(-32768), eight = _mm512_set1_epi16(8);
    for (int line = 0; line < kLines; ++line, codes += 64, to += 128) {
      fetch(codes);
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) {
        const __m512i x = _mm512_cvtepu8_epi16(half(codes + 32 * v));
        const __m512i size = _mm512_and_si512(x, magnitude);
        const __m512i normal = _mm512_add_epi16(_mm512_slli_epi16(size, 4), bias);
        const __m512i number = _mm512_mask_permutexvar_epi16(
            normal, _mm512_cmplt_epu16_mask(size, eight), size, table_);
        // number | (x << 8 & sign)
        _mm512_storeu_si512(to + 64 * v,
                            _mm512_ternarylogic_epi32(number, _mm512_slli_epi16(x, 8), sign, 0xf8));
      }
    }
  }

  const CodePanels& c_;
  const char* panel_;
  int known_ = -1;  // the group whose zero points are in zeros_
  __m512i table_{}, zeros_[2]{};
};

}  // namespace counterbeam
