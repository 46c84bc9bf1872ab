// The gated delta rule of one value head, token by token, over any of the vector types:
//   S <- e^g S;  m = S^T k;  delta = beta (v - m);  S <- S + k delta^T;  o = S^T q
// Columns of S do not meet, so a strip of kStateColumns of them stays in the first-level cache for
// all tokens, and a strip is read and written once however many tokens there are.
#pragma once

#include "backend/cpu/row_kernels.h"

namespace counterbeam {

template <typename S>
struct DeltaLoops {
  using F = typename S::F;
  static constexpr int kVectors = kStateColumns / S::kWidth;

  // q and k of unit length (q times key_dim^-1/2 as well), into out [key_dim][2].
  static void unit_keys(float* out, const float* q, const float* k, int key_dim) {
    const float q_scale = 1.0f / __builtin_sqrtf(RowLoops<S>::sum_of_squares(q, key_dim) + 1e-6f) /
                          __builtin_sqrtf(static_cast<float>(key_dim));
    const float k_scale = 1.0f / __builtin_sqrtf(RowLoops<S>::sum_of_squares(k, key_dim) + 1e-6f);
    for (int i = 0; i < key_dim; ++i) {
      out[2 * i] = q[i] * q_scale;
      out[2 * i + 1] = k[i] * k_scale;
    }
  }

  // One token on a strip S [key_dim][kStateColumns]; v and out are the strip's columns.
  static void step(float* out, float* strip, const float* keys, const float* v, int columns,
                   int key_dim, float decay, float beta) {
    F read[kVectors][2];
    for (auto& pair : read) pair[0] = pair[1] = S::zero();
    for (int i = 0; i < key_dim; i += 2) {
#pragma GCC unroll 2
      for (int odd = 0; odd < 2; ++odd) {
        if (i + odd >= key_dim) break;
        const F k = S::set1(keys[2 * (i + odd) + 1]);
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; ++j) {
          const F s = S::load(strip + (i + odd) * kStateColumns + j * S::kWidth);
          read[j][odd] = S::fma(s, k, read[j][odd]);
        }
      }
    }
    F delta[kVectors], sum[kVectors][2];
    const F decays = S::set1(decay), betas = S::set1(beta);
    for (int j = 0; j < kVectors; ++j) {
      const F value = load_columns(v + j * S::kWidth, columns - j * S::kWidth);
      const F m = S::mul(S::add(read[j][0], read[j][1]), decays);
      delta[j] = S::mul(betas, S::sub(value, m));
      sum[j][0] = sum[j][1] = S::zero();
    }
    for (int i = 0; i < key_dim; i += 2) {
#pragma GCC unroll 2
      for (int odd = 0; odd < 2; ++odd) {
        if (i + odd >= key_dim) break;
        const F q = S::set1(keys[2 * (i + odd)]), k = S::set1(keys[2 * (i + odd) + 1]);
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; ++j) {
          float* at = strip + (i + odd) * kStateColumns + j * S::kWidth;
          const F s = S::fma(k, delta[j], S::mul(S::load(at), decays));
          S::store(at, s);
          sum[j][odd] = S::fma(s, q, sum[j][odd]);
        }
      }
    }
    for (int j = 0; j < kVectors; ++j) {
      const int lanes = columns - j * S::kWidth;
      const F o = S::add(sum[j][0], sum[j][1]);
      if (lanes > 0) store_lanes<S>(out + j * S::kWidth, lanes < S::kWidth ? lanes : S::kWidth, o);
    }
  }

  static void run(const DeltaHead& head, float* scratch) {
    const int strips = round_up(head.value_dim, kStateColumns) / kStateColumns;
    constexpr int kTokens = 16;  // whose keys are made ready at once
    for (int first = 0; first < head.tokens; first += kTokens) {
      const int last = first + kTokens < head.tokens ? first + kTokens : head.tokens;
      for (int t = first; t < last; ++t)
        unit_keys(scratch + (t - first) * 2 * head.key_dim, head.q + t * head.stride,
                  head.k + t * head.stride, head.key_dim);
      for (int strip = 0; strip < strips; ++strip) {
        const int column = strip * kStateColumns;
        float* state = head.state + static_cast<std::ptrdiff_t>(column) * head.key_dim;
        for (int t = first; t < last; ++t)
          step(head.out.row(t) + column, state, scratch + (t - first) * 2 * head.key_dim,
               head.v + t * head.stride + column, head.value_dim - column, head.key_dim,
               head.decay[t], head.beta[t]);
      }
    }
  }

 private:
  static F load_columns(const float* from, int lanes) {
    if (lanes <= 0) return S::zero();
    return load_lanes<S>(from, lanes < S::kWidth ? lanes : S::kWidth);
  }
};

}  // namespace counterbeam
