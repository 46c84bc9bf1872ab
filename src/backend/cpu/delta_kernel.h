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

  // q and k of unit length (q times key_dim^-1/2 as well), into keys [key_dim][2]; their product.
  static float unit_keys(float* keys, const float* q, const float* k, int key_dim) {
    const auto dot = RowLoops<S>::dot;
    const float q_scale = 1.0f / __builtin_sqrtf(dot(q, q, key_dim) + 1e-6f) /
                          __builtin_sqrtf(static_cast<float>(key_dim));
    const float k_scale = 1.0f / __builtin_sqrtf(dot(k, k, key_dim) + 1e-6f);
    for (int i = 0; i < key_dim; ++i) {
      keys[2 * i] = q[i] * q_scale;
      keys[2 * i + 1] = k[i] * k_scale;
    }
    return dot(q, k, key_dim) * q_scale * k_scale;
  }

  struct Token {
    const float* keys;
    float keys_product, decay, beta;
  };

  // One token on a strip S [key_dim][kStateColumns]; v and out are the strip's columns. Two
  // vectors at a time, each sum in two parts: enough to do while a multiply-add is under way.
  static void step(float* out, float* strip, const Token& token, const float* v, int columns,
                   int key_dim) {
    for (int first = 0; first < kStateColumns && first < columns; first += 2 * S::kWidth)
      step_pair(out + first, strip + first, token, v + first, columns - first, key_dim);
  }

  static void step_pair(float* out, float* strip, const Token& token, const float* v, int columns,
                        int key_dim) {
    F reads[2][2], sums[2][2];  // [vector][part]
    for (int part = 0; part < 2; ++part) {
      reads[0][part] = reads[1][part] = S::zero();
      sums[0][part] = sums[1][part] = S::zero();
    }
    const auto read = [&](int i, int part) {
      const F k = S::set1(token.keys[2 * i + 1]), q = S::set1(token.keys[2 * i]);
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j) {
        const F s = S::load(strip + i * kStateColumns + j * S::kWidth);
        reads[j][part] = S::fma(s, k, reads[j][part]);
        sums[j][part] = S::fma(s, q, sums[j][part]);
      }
    };
    int i = 0;
    for (; i + 2 <= key_dim; i += 2) {
      read(i, 0);
      read(i + 1, 1);
    }
    if (i < key_dim) read(i, 0);
    const F decay = S::set1(token.decay), beta = S::set1(token.beta);
    F delta[2];
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      const int left = columns - j * S::kWidth;
      const int lanes = left < 0 ? 0 : left < S::kWidth ? left : S::kWidth;
      const F m = S::mul(S::add(reads[j][0], reads[j][1]), decay);
      delta[j] = S::mul(beta, S::sub(load_lanes<S>(v + j * S::kWidth, lanes), m));
      const F before = S::mul(S::add(sums[j][0], sums[j][1]), decay);
      store_lanes<S>(out + j * S::kWidth, lanes,
                     S::fma(S::set1(token.keys_product), delta[j], before));
    }
#pragma GCC unroll 2
    for (int r = 0; r < key_dim; ++r) {
      const F k = S::set1(token.keys[2 * r + 1]);
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j) {
        float* at = strip + r * kStateColumns + j * S::kWidth;
        S::store(at, S::fma(k, delta[j], S::mul(S::load(at), decay)));
      }
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
};

}  // namespace counterbeam
