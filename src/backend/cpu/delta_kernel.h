// The gated delta rule of one value head, token by token, for any vector type:
//   S <- e^g S;  m = S^T k;  delta = beta (v - m);  S <- S + k delta^T;  o = S^T q
// With S of before the token, o = e^g S^T q + (k q) delta, so a token needs two sums over S and
// then one update. The pass that updates S for one token also computes the sums of the next.
// Columns of S are independent: two vectors of them are taken through many tokens at a time, while
// the strip of kStateColumns that contains them stays in the L1 cache.
#pragma once

#include "backend/cpu/row_kernels.h"

namespace counterbeam {

template <typename S>
struct DeltaLoops {
  using F = typename S::F;

  struct Token {
    const float* keys;  // [key_dim][2]: q, k
    float keys_product, decay, beta;
  };

  // The factors that make k of unit length, and q of length key_dim^-1/2.
  static float key_scale(const float* k, int key_dim) {
    return 1.0f / __builtin_sqrtf(RowLoops<S>::dot(k, k, key_dim) + 1e-6f);
  }
  static float query_scale(const float* q, int key_dim) {
    return key_scale(q, key_dim) / __builtin_sqrtf(static_cast<float>(key_dim));
  }

  // Writes scaled q and k to keys [key_dim][2] and returns their dot product.
  static float unit_keys(float* keys, const float* q, const float* k, int key_dim) {
    const float q_scale = query_scale(q, key_dim), k_scale = key_scale(k, key_dim);
    for (int i = 0; i < key_dim; ++i) {
      keys[2 * i] = q[i] * q_scale;
      keys[2 * i + 1] = k[i] * k_scale;
    }
    return RowLoops<S>::dot(q, k, key_dim) * q_scale * k_scale;
  }

  // S^T k and S^T q of two vectors of columns, each in two partial sums: even and odd rows of S.
  struct Sums {
    F k[2][2], q[2][2];  // [vector][part]
    void clear() {
      for (int part = 0; part < 2; ++part) {
        k[0][part] = k[1][part] = S::zero();
        q[0][part] = q[1][part] = S::zero();
      }
    }
    void add(int part, const F (&s)[2], const float* keys) {
      const F key = S::set1(keys[1]), query = S::set1(keys[0]);
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j) {
        k[j][part] = S::fma(s[j], key, k[j][part]);
        q[j][part] = S::fma(s[j], query, q[j][part]);
      }
    }
  };

  // f(row, part) for all rows of S.
  template <typename Each>
  static void for_keys(int key_dim, Each&& f) {
    int i = 0;
    for (; i + 2 <= key_dim; i += 2) {
      f(i, 0);
      f(i + 1, 1);
    }
    if (i < key_dim) f(i, 0);
  }

  static void read(Sums& sums, const float* strip, const float* keys, int key_dim) {
    sums.clear();
    for_keys(key_dim, [&](int i, int part) {
      const float* at = strip + i * kStateColumns;
      sums.add(part, {S::load(at), S::load(at + S::kWidth)}, keys + 2 * i);
    });
  }

  // The token's update and, with kNext, the sums that the next token needs.
  template <bool kNext>
  static void update(Sums& sums, float* strip, const F (&delta)[2], const Token& token,
                     const float* next_keys, int key_dim) {
    const F decay = S::set1(token.decay);
    if (kNext) sums.clear();
    for_keys(key_dim, [&](int i, int part) {
      float* at = strip + i * kStateColumns;
      const F key = S::set1(token.keys[2 * i + 1]);
      const F s[2] = {S::fma(key, delta[0], S::mul(S::load(at), decay)),
                      S::fma(key, delta[1], S::mul(S::load(at + S::kWidth), decay))};
      S::store(at, s[0]);
      S::store(at + S::kWidth, s[1]);
      if (kNext) sums.add(part, s, next_keys + 2 * i);
    });
  }

  // Several tokens on two vectors of columns, of which `columns` columns exist.
  static void run_pair(Rows out, float* strip, const Token* tokens, int count, const float* v,
                       std::ptrdiff_t v_stride, int columns, int key_dim) {
    Sums sums;
    read(sums, strip, tokens[0].keys, key_dim);
    for (int t = 0; t < count; ++t, v += v_stride) {
      const Token& token = tokens[t];
      const F decay = S::set1(token.decay), beta = S::set1(token.beta);
      F delta[2];
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j) {
        const int left = columns - j * S::kWidth;
        const int lanes = left < 0 ? 0 : left < S::kWidth ? left : S::kWidth;
        const F m = S::mul(S::add(sums.k[j][0], sums.k[j][1]), decay);
        delta[j] = S::mul(beta, S::sub(load_lanes<S>(v + j * S::kWidth, lanes), m));
        const F before = S::mul(S::add(sums.q[j][0], sums.q[j][1]), decay);
        store_lanes<S>(out.row(t) + j * S::kWidth, lanes,
                       S::fma(S::set1(token.keys_product), delta[j], before));
      }
      if (t + 1 < count) {
        update<true>(sums, strip, delta, token, tokens[t + 1].keys, key_dim);
      } else {
        update<false>(sums, strip, delta, token, nullptr, key_dim);
      }
    }
  }

  static void run(const DeltaHead& head, float* scratch) {
    constexpr int kTokens = 16;  // tokens whose keys are prepared at once
    for (int first = 0; first < head.tokens; first += kTokens) {
      const int count = head.tokens - first < kTokens ? head.tokens - first : kTokens;
      Token tokens[kTokens];
      for (int i = 0; i < count; ++i) {
        const int t = first + i;
        float* keys = scratch + i * 2 * head.key_dim;
        const float product =
            unit_keys(keys, head.q + t * head.stride, head.k + t * head.stride, head.key_dim);
        tokens[i] = {keys, product, head.decay[t], head.beta[t]};
      }
      for (int column = 0; column < head.value_dim; column += 2 * S::kWidth) {
        const int strip = column / kStateColumns * kStateColumns;
        float* state =
            head.state + static_cast<std::ptrdiff_t>(strip) * head.key_dim + (column - strip);
        run_pair({head.out.row(first) + column, head.out.stride}, state, tokens, count,
                 head.v + first * head.stride + column, head.stride, head.value_dim - column,
                 head.key_dim);
      }
    }
  }
};

}  // namespace counterbeam
