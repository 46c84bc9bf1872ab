// The gated delta rule of one value head, token by token, over any of the vector types:
//   S <- e^g S;  m = S^T k;  delta = beta (v - m);  S <- S + k delta^T;  o = S^T q
// The last two are taken apart, o = e^g S^T q + (k q) delta with S of before, so that one pass
// over S does the sums and another, without any, the update. Columns of S do not meet: a strip of
// kStateColumns of them stays in the first-level cache for many tokens.
#pragma once

#include "backend/cpu/row_kernels.h"

namespace counterbeam {

template <typename S>
struct DeltaLoops {
  using F = typename S::F;
  static constexpr int kVectors = kStateColumns / S::kWidth;

  // q and k of unit length (q times key_dim^-1/2 as well), into keys [key_dim][2]; their product.
  static float unit_keys(float* keys, const float* q, const float* k, int key_dim) {
    const float q_scale = 1.0f / __builtin_sqrtf(RowLoops<S>::sum_of_squares(q, key_dim) + 1e-6f) /
                          __builtin_sqrtf(static_cast<float>(key_dim));
    const float k_scale = 1.0f / __builtin_sqrtf(RowLoops<S>::sum_of_squares(k, key_dim) + 1e-6f);
    float product = 0;
    for (int i = 0; i < key_dim; ++i) {
      keys[2 * i] = q[i] * q_scale;
      keys[2 * i + 1] = k[i] * k_scale;
      product += keys[2 * i] * keys[2 * i + 1];
    }
    return product;
  }

  struct Token {
    const float* keys;
    float keys_product, decay, beta;
  };

  // One token on a strip S [key_dim][kStateColumns]; v and out are the strip's columns.
  static void step(float* out, float* strip, const Token& token, const float* v, int columns,
                   int key_dim) {
    for (int j = 0; j < kVectors; ++j) {
      const int lanes = columns - j * S::kWidth;
      if (lanes <= 0) break;
      step_vector(out + j * S::kWidth, strip + j * S::kWidth, token, v + j * S::kWidth,
                  lanes < S::kWidth ? lanes : S::kWidth, key_dim);
    }
  }

  static void step_vector(float* out, float* strip, const Token& token, const float* v, int lanes,
                          int key_dim) {
    constexpr int kChains = 4;  // a sum is four sums, for the multiply-adds' latency
    F reads[kChains], sums[kChains];
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c) reads[c] = sums[c] = S::zero();
    const auto read = [&](int i, int c) {
      const F s = S::load(strip + i * kStateColumns);
      reads[c] = S::fma(s, S::set1(token.keys[2 * i + 1]), reads[c]);
      sums[c] = S::fma(s, S::set1(token.keys[2 * i]), sums[c]);
    };
    int i = 0;
    for (; i + kChains <= key_dim; i += kChains) {
#pragma GCC unroll 4
      for (int c = 0; c < kChains; ++c) read(i + c, c);
    }
    for (; i < key_dim; ++i) read(i, 0);
    const F decay = S::set1(token.decay);
    const F m = S::mul(total(reads), decay);
    const F delta = S::mul(S::set1(token.beta), S::sub(load_lanes<S>(v, lanes), m));
    const F o = S::fma(total(sums), decay, S::mul(S::set1(token.keys_product), delta));
    store_lanes<S>(out, lanes, o);
#pragma GCC unroll 4
    for (int r = 0; r < key_dim; ++r) {
      float* at = strip + r * kStateColumns;
      S::store(at, S::fma(S::set1(token.keys[2 * r + 1]), delta, S::mul(S::load(at), decay)));
    }
  }

  static void run(const DeltaHead& head, float* scratch) {
    const int strips = round_up(head.value_dim, kStateColumns) / kStateColumns;
    constexpr int kTokens = 16;  // whose keys are made ready at once
    for (int first = 0; first < head.tokens; first += kTokens) {
      const int last = first + kTokens < head.tokens ? first + kTokens : head.tokens;
      Token tokens[kTokens];
      for (int t = first; t < last; ++t) {
        float* keys = scratch + (t - first) * 2 * head.key_dim;
        const float product =
            unit_keys(keys, head.q + t * head.stride, head.k + t * head.stride, head.key_dim);
        tokens[t - first] = {keys, product, head.decay[t], head.beta[t]};
      }
      for (int strip = 0; strip < strips; ++strip) {
        const int column = strip * kStateColumns;
        float* state = head.state + static_cast<std::ptrdiff_t>(column) * head.key_dim;
        for (int t = first; t < last; ++t)
          step(head.out.row(t) + column, state, tokens[t - first],
               head.v + t * head.stride + column, head.value_dim - column, head.key_dim);
      }
    }
  }

 private:
  static F total(const F (&parts)[4]) {
    return S::add(S::add(parts[0], parts[1]), S::add(parts[2], parts[3]));
  }
};

}  // namespace counterbeam
