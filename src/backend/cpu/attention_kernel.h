// Attention of one token and the query heads that share a key head, for any vector type. A page of
// keys is a panel whose columns are its 32 tokens, a page of values is panels whose columns are the
// head's width, so scores and sums use the instructions of the GEMM. Pages are taken in order, each
// with a step of the online softmax, and tokens that a row does not see enter no sum: the bits of a
// row depend on its position alone, not on the rows it is batched with.
//
// Codes of a cache of 8 bits become floats in registers, without their scales: those of keys are
// applied to the scores of their tokens, those of values to the softmax weights.
#pragma once

#include <type_traits>

#include "backend/cpu/product_kernels.h"
#include "backend/cpu/row_kernels.h"

namespace counterbeam {

// The codes of a cache: a step is one input, [R] floats against [kPanel] codes.
template <typename S, bool kFp8>
struct CacheCodes {
  using Input = float;
  using Weight = std::uint8_t;
  static constexpr int kInputs = 1;
  static constexpr int kInputWords = 1;

  template <int R>
  static void step(BlockSums<S, R>& sums, const Input* a, const Weight* w) {
    const auto w0 = numbers(w), w1 = numbers(w + S::kWidth);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) sums.step(S::set1(a[r]), w0, w1, r);
  }

 private:
  static typename S::F numbers(const Weight* w) {
    if constexpr (kFp8) {
      return S::fp8(w);
    } else {
      return S::bytes(w);
    }
  }
};

// `Packing`: the weights whose inputs are packed as those of W are.
template <typename S, typename W, typename Packing = W>
struct AttentionLoops {
  using F = typename S::F;
  using Input = typename W::Input;
  using Weight = typename W::Weight;
  static constexpr int kTokens = kPanel;  // of a page
  static constexpr int kMaxRows = 16;
  static constexpr bool kCodes = std::is_same_v<Weight, std::uint8_t>;
  static_assert(S::kRows <= kMaxRows);

  // The online softmax of R query heads.
  template <int R>
  struct State {
    float* scores;   // [R][kTokens]
    float* sums;     // [R][padded width]
    Input* queries;  // packed by ProductLoops::pack
    Input* shares;   // the softmax weights of a page, packed alike
    alignas(64) float top[kMaxRows];
    alignas(64) float total[kMaxRows];
    alignas(64) float fade[kMaxRows];  // the factor that rescales earlier sums to the new maximum
  };

  static void run(const AttentionJob& job, float* scratch) {
    for (int i = 0; i < job.count; ++i) run(job.heads[i], scratch);
  }

 private:
  static void run(const AttentionHead& head, float* scratch) {
    for (int token = 0; token < head.tokens; ++token) {
      for (int first = 0; first < head.group; first += S::kRows) {
        const int rows = head.group - first < S::kRows ? head.group - first : S::kRows;
        with_rows<S>(rows, [&]<int R>() { heads<R>(head, token, first, scratch); });
      }
    }
  }

  template <int R>
  static void heads(const AttentionHead& head, int token, int first_head, float* scratch) {
    const int padded = round_up(head.width, kDepthStep);
    State<R> state;
    state.scores = scratch;
    state.sums = state.scores + R * kTokens;
    state.queries = reinterpret_cast<Input*>(state.sums + R * padded);
    state.shares = state.queries + R * padded;
    const float* q = head.queries + token * head.query_stride +
                     static_cast<std::ptrdiff_t>(first_head) * head.width;
    ProductLoops<S, Packing>::pack(state.queries, {const_cast<float*>(q), head.width}, R,
                                   head.width, padded, 0, padded);
    for (int i = 0; i < R * padded; ++i) state.sums[i] = 0;
    for (int r = 0; r < kMaxRows; ++r) {
      state.top[r] = -3.0e38f;
      state.total[r] = 0;
    }
    const int first_seen = head.first_seen(token), last_seen = head.last_seen(token);
    for (int page = first_seen / kTokens; page * kTokens < last_seen; ++page) {
      const int from = first_seen - page * kTokens, to = last_seen - page * kTokens;
      const std::byte *keys = head.page(page), *values = keys + head.half_bytes;
      score<R>(state, weights(keys), padded);
      softmax<R>(state, from, to < kTokens ? to : kTokens, head.scale, scales(keys),
                 scales(values));
      mix<R>(state, weights(values), padded, to < kTokens ? to : kTokens);
    }
    for (int r = 0; r < R; ++r) {
      const F part = S::set1(1.0f / state.total[r]);
      float* out = head.out + token * head.out_stride +
                   static_cast<std::ptrdiff_t>(first_head + r) * head.width;
      for_vectors<S>(head.width, [&](int i, int lanes) {
        store_lanes<S>(out + i, lanes, S::mul(S::load(state.sums + r * padded + i), part));
      });
    }
  }

  static const float* scales(const std::byte* half) { return reinterpret_cast<const float*>(half); }
  static const Weight* weights(const std::byte* half) {
    return reinterpret_cast<const Weight*>(half + (kCodes ? kScaleBytes : 0));
  }

  template <int R>
  static void score(State<R>& state, const Weight* keys, int padded) {
    for (int column = 0; column < kPanel; column += BlockSums<S, R>::kColumns) {
      BlockSums<S, R> sums;
      sums.clear();
      const Input* a = state.queries;
      const Weight* w = keys + column;
      for (int k = 0; k < padded; k += W::kInputs, a += R * W::kInputWords, w += kPanel)
        W::step(sums, a, w);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        S::store(state.scores + r * kTokens + column, sums.sum[r][0]);
        S::store(state.scores + r * kTokens + column + S::kWidth, sums.sum[r][1]);
      }
    }
  }

  // Turns the scores of tokens [from, to) of a page into shares; other tokens get 0. With codes,
  // the scales of the page's keys and values are applied before and after.
  template <int R>
  static void softmax(State<R>& state, int from, int to, float scale,
                      [[maybe_unused]] const float* key_scales,
                      [[maybe_unused]] const float* value_scales) {
    constexpr int kVectors = kTokens / S::kWidth;
    const F never = S::set1(-3.0e38f), scales = S::set1(scale);
    alignas(64) float tops[kMaxRows] = {};
    for (int r = 0; r < R; ++r) {
      float* scores = state.scores + r * kTokens;
      F top = S::set1(state.top[r]);
      for (int j = 0; j < kVectors; ++j) {
        const int at = j * S::kWidth;
        F s = S::mul(S::load(scores + at), scales);
        if constexpr (kCodes) s = S::mul(s, S::load(key_scales + at));
        s = S::first(to - at, s, never);
        s = S::first(from - at, never, s);
        S::store(scores + at, s);
        top = S::max(s, top);
      }
      tops[r] = S::largest(top);
    }
    for (int r = 0; r < R; r += S::kWidth) {
      const F now = S::load(tops + r);
      S::store(state.fade + r, exp_of<S>(S::sub(S::load(state.top + r), now)));
      S::store(state.top + r, now);
    }
    for (int r = 0; r < R; ++r) {
      float* scores = state.scores + r * kTokens;
      const F top = S::set1(state.top[r]);
      F sum = S::zero();
      for (int j = 0; j < kVectors; ++j) {
        const int at = j * S::kWidth;
        F share = exp_of<S>(S::sub(S::load(scores + at), top));
        share = S::first(to - at, share, S::zero());
        share = S::first(from - at, S::zero(), share);
        sum = S::add(sum, share);
        if constexpr (kCodes) {
          share = S::first(to - at, S::mul(share, S::load(value_scales + at)), S::zero());
          share = S::first(from - at, S::zero(), share);
        }
        S::store(scores + at, share);
      }
      state.total[r] = state.total[r] * state.fade[r] + S::sum(sum);
    }
    ProductLoops<S, Packing>::pack(state.shares, {state.scores, kTokens}, R, kTokens, kTokens, 0,
                                   kTokens);
  }

  // sums = sums * fade + shares * values, over the first `tokens` of the page.
  template <int R>
  static void mix(State<R>& state, const Weight* values, int padded, int tokens) {
    for (int column = 0; column < padded; column += BlockSums<S, R>::kColumns) {
      BlockSums<S, R> sums;
      float* at = state.sums + column;
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const F fade = S::set1(state.fade[r]);
        sums.sum[r][0] = S::mul(S::load(at + r * padded), fade);
        sums.sum[r][1] = S::mul(S::load(at + r * padded + S::kWidth), fade);
      }
      const Input* a = state.shares;
      const int panel = column / kPanel;
      const Weight* w = values + panel * (kTokens / W::kInputs) * kPanel + column % kPanel;
      for (int t = 0; t + W::kInputs <= tokens;
           t += W::kInputs, a += R * W::kInputWords, w += kPanel)
        W::step(sums, a, w);
      if constexpr (W::kInputs == 2) {
        if (tokens % 2 != 0) W::half_step(sums, a, w);
      }
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        S::store(at + r * padded, sums.sum[r][0]);
        S::store(at + r * padded + S::kWidth, sums.sum[r][1]);
      }
    }
  }
};

template <typename S>
inline void attend_codes(const AttentionJob& job, float* scratch) {
  if (job.heads[0].type == CacheType::Fp8) {
    AttentionLoops<S, CacheCodes<S, true>, F32Weights<S>>::run(job, scratch);
  } else {
    AttentionLoops<S, CacheCodes<S, false>, F32Weights<S>>::run(job, scratch);
  }
}

}  // namespace counterbeam
