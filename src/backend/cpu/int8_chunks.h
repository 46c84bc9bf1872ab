// Quantises chunks of rows to 8 bits with vector operations: the same numbers as quantise_chunk()
// of int8_rows.h, for any type of int8_vectors.h.
#pragma once

#include "backend/cpu/int8_vectors.h"
#include "backend/cpu/kernels.h"

namespace counterbeam {

// kDigits: 1, or 2 for rows in 16 bits, whose numbers q from -32639 to 32639 are 256 times a signed
// byte plus another.
template <typename V, int kDigits = 1>
struct Int8Chunks {
  using S = typename V::Simd;
  using F = typename S::F;

  // The longest chunk, and what pads the depth after the last one.
  static constexpr int kBuffer = 128 + 2 * kDepthStep;

  struct Done {
    float scale;
    std::int32_t total;  // of the quantised numbers
  };

  static constexpr float kLargest = kDigits == 1 ? 127 : 127 * 256 + 127;

  // Inputs [from, until) of a row of `width`, zeros from there on. The upper digits go to `to`, the
  // lower ones kBuffer bytes later.
  static Done quantise(const float* x, int from, int until, int width, std::int8_t* to) {
    // Adding 1.5 * 2^23 leaves a whole number in the low bits; 128 more, because the lower digit is
    // signed.
    constexpr float kRound = kDigits == 1 ? 12582912.0f : 12583040.0f;
    F top = S::zero(), strange = S::zero();  // not zero: NaN or infinity
    for (int i = from; i < until; i += S::kWidth) {
      const F v = load(x, i, width);
      top = S::max(top, S::max(v, S::sub(S::zero(), v)));
      strange = S::fma(v, S::zero(), strange);
    }
    float largest = S::largest(top);
    const bool finite = S::sum(strange) == 0;
    const bool none = !finite || largest < 0x1p-100f;
    if (none) largest = 0;
    const F factor = S::set1(none ? 0.0f : kLargest / largest), round = S::set1(kRound);
    F total = S::zero();
    for (int i = from; i < until; i += S::kWidth) {
      const F v = none ? S::zero() : load(x, i, width);
      const F q = S::add(S::mul(v, factor), round);
      if constexpr (kDigits == 1)
        V::store_bytes(to + (i - from), q);
      else
        V::store_digits(to + (i - from), to + kBuffer + (i - from), q);
      total = S::add(total, S::sub(q, round));
    }
    return {finite ? largest / kLargest : __builtin_nanf(""),
            static_cast<std::int32_t>(S::sum(total))};
  }

 private:
  static F load(const float* x, int i, int width) {
    return i + S::kWidth <= width ? S::load(x + i) : S::load_part(x + i, width - i);
  }
};

}  // namespace counterbeam
