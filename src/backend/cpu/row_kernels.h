// Norms, rope, gates and the causal convolution of one row, for any vector type.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/vector_math.h"

namespace counterbeam {

// Calls f(index, lanes) for every vector of [0, width); lanes < S::kWidth only in the last one.
template <typename S, typename F>
inline void for_vectors(int width, F&& f) {
  int i = 0;
  for (; i + S::kWidth <= width; i += S::kWidth) f(i, S::kWidth);
  if (i < width) f(i, width - i);
}

template <typename S>
inline typename S::F load_lanes(const float* from, int lanes) {
  return lanes == S::kWidth ? S::load(from) : S::load_part(from, lanes);
}

template <typename S>
inline void store_lanes(float* to, int lanes, typename S::F x) {
  if (lanes == S::kWidth) {
    S::store(to, x);
  } else {
    S::store_part(to, lanes, x);
  }
}

template <typename S>
struct RowLoops {
  using F = typename S::F;

  static float dot(const float* a, const float* b, int width) {
    F sums[4] = {S::zero(), S::zero(), S::zero(), S::zero()};
    int i = 0;
    for (; i + 4 * S::kWidth <= width; i += 4 * S::kWidth) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const int at = i + j * S::kWidth;
        sums[j] = S::fma(S::load(a + at), S::load(b + at), sums[j]);
      }
    }
    for (; i < width; i += S::kWidth) {
      const int lanes = width - i < S::kWidth ? width - i : S::kWidth;
      sums[0] = S::fma(load_lanes<S>(a + i, lanes), load_lanes<S>(b + i, lanes), sums[0]);
    }
    return S::sum(S::add(S::add(sums[0], sums[1]), S::add(sums[2], sums[3])));
  }

  static float inverse_rms(const float* x, int width, float eps) {
    return 1.0f / __builtin_sqrtf(dot(x, x, width) / static_cast<float>(width) + eps);
  }

  static void rms_norm(float* out, const float* x, const float* weight, int width, float eps,
                       float centre) {
    const F scale = S::set1(inverse_rms(x, width, eps)), offset = S::set1(centre);
    for_vectors<S>(width, [&](int i, int lanes) {
      const F w = S::add(offset, load_lanes<S>(weight + i, lanes));
      store_lanes<S>(out + i, lanes, S::mul(S::mul(load_lanes<S>(x + i, lanes), scale), w));
    });
  }

  static void gated_norm(float* out, const float* x, const float* gate, const float* weight,
                         int width, float eps) {
    const F scale = S::set1(inverse_rms(x, width, eps));
    for_vectors<S>(width, [&](int i, int lanes) {
      const F normed =
          S::mul(S::mul(load_lanes<S>(x + i, lanes), scale), load_lanes<S>(weight + i, lanes));
      store_lanes<S>(out + i, lanes, S::mul(normed, silu_of<S>(load_lanes<S>(gate + i, lanes))));
    });
  }

  static void rope(float* x, const float* cosines, const float* sines, int half) {
    for_vectors<S>(half, [&](int i, int lanes) {
      const F a = load_lanes<S>(x + i, lanes), b = load_lanes<S>(x + half + i, lanes);
      const F c = load_lanes<S>(cosines + i, lanes), s = load_lanes<S>(sines + i, lanes);
      store_lanes<S>(x + i, lanes, S::sub(S::mul(a, c), S::mul(b, s)));
      store_lanes<S>(x + half + i, lanes, S::add(S::mul(b, c), S::mul(a, s)));
    });
  }

  static void silu_mul(float* out, const float* gate, const float* up, int width) {
    for_vectors<S>(width, [&](int i, int lanes) {
      const F gated = silu_of<S>(load_lanes<S>(gate + i, lanes));
      store_lanes<S>(out + i, lanes, S::mul(gated, load_lanes<S>(up + i, lanes)));
    });
  }

  static void gelu_mul(float* out, const float* gate, const float* up, int width) {
    for_vectors<S>(width, [&](int i, int lanes) {
      const F gated = gelu_of<S>(load_lanes<S>(gate + i, lanes));
      store_lanes<S>(out + i, lanes, S::mul(gated, load_lanes<S>(up + i, lanes)));
    });
  }

  static void sigmoid_gate(float* out, const float* gate, int width) {
    for_vectors<S>(width, [&](int i, int lanes) {
      const F share = sigmoid_of<S>(load_lanes<S>(gate + i, lanes));
      store_lanes<S>(out + i, lanes, S::mul(load_lanes<S>(out + i, lanes), share));
    });
  }

  // From the last token to the first, since `out` may be x and a token reads earlier ones.
  static void conv(const ConvStrip& strip) {
    const int kept = strip.taps - 1;
    const auto input = [&](int t) { return t < 0 ? strip.kept.row(kept + t) : strip.x.row(t); };
    alignas(64) float last[kMaxTaps - 1][kConvChannels];
    for (int i = 0; i < kept; ++i) {
      const float* from = input(strip.tokens - kept + i);
      for (int c = 0; c < strip.channels; ++c) last[i][c] = from[c];
    }
    for (int t = strip.tokens - 1; t >= 0; --t) {
      const float* inputs[kMaxTaps];
      for (int i = 0; i < strip.taps; ++i) inputs[i] = input(t - kept + i);
      float* out = strip.out.row(t);
      for_vectors<S>(strip.channels, [&](int c, int lanes) {
        F sum = S::zero();
        for (int i = 0; i < strip.taps; ++i)
          sum = S::fma(load_lanes<S>(inputs[i] + c, lanes),
                       load_lanes<S>(strip.weight.row(i) + c, lanes), sum);
        store_lanes<S>(out + c, lanes, silu_of<S>(sum));
      });
    }
    for (int i = 0; i < kept; ++i) {
      for (int c = 0; c < strip.channels; ++c) strip.kept.row(i)[c] = last[i][c];
    }
  }

  static LogitBlock logit_block(const float* logits, int count, float scale) {
    const F lowest = S::set1(-3.0e38f);
    F top = lowest, zeros = S::zero();
    for_vectors<S>(count, [&](int i, int lanes) {
      const F value = load_lanes<S>(logits + i, lanes);
      zeros = S::fma(value, S::zero(), zeros);  // becomes NaN if a logit is not finite
      top = S::max(S::first(lanes, value, lowest), top);
    });
    LogitBlock block;
    block.largest = S::largest(top);
    block.finite = S::sum(zeros) == 0.0f;
    block.sum = exp_terms(nullptr, logits, count, scale, block.largest);
    return block;
  }

  static float exp_terms(float* terms, const float* logits, int count, float scale, float largest) {
    const F top = S::set1(largest), factor = S::set1(scale * kLog2E);
    F sum = S::zero();
    for_vectors<S>(count, [&](int i, int lanes) {
      const F value = S::sub(load_lanes<S>(logits + i, lanes), top);
      const F term = S::first(lanes, exp2_of<S>(S::mul(value, factor)), S::zero());
      if (terms) store_lanes<S>(terms + i, lanes, term);
      sum = S::add(sum, term);
    });
    return S::sum(sum);
  }
};

}  // namespace counterbeam
