// The GEMM of packed rows and weight panels, for any vector type. Rows are rounded to the weights'
// type and interleaved in blocks of up to S::kRows; a block keeps its sums in registers and loads a
// weight once for all its rows, and a panel stays in the L2 cache while the other blocks pass over
// it. An output is one chain of multiply-adds over the depth in ascending order, in a lane of its
// own: one row gives the same bits as a thousand. Codes are decoded a part of a panel at a time,
// which all blocks then pass over; the sums wait in memory meanwhile, so the chain is the same.
// With a dot product of bf16 pairs and large groups, codes are decoded without their scales, and
// the sums of every group are scaled.
#pragma once

#include "backend/cpu/decode_kernels.h"
#include "backend/cpu/kernels.h"
#ifdef __AVX512BF16__
#include "backend/cpu/exact_codes.h"
#endif

namespace counterbeam {

// Sums of R rows and the columns of two vectors. `a` holds the R rows interleaved.
template <typename S, int R>
struct BlockSums {
  static constexpr int kColumns = 2 * S::kWidth;
  typename S::F sum[R][2];

  void clear() {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) sum[r][0] = sum[r][1] = S::zero();
  }
  // Sums wait in rows of kPanel floats.
  void load(const float* from) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      sum[r][0] = S::load(from + r * kPanel);
      sum[r][1] = S::load(from + r * kPanel + S::kWidth);
    }
  }
  void store(float* to) const {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      S::store(to + r * kPanel, sum[r][0]);
      S::store(to + r * kPanel + S::kWidth, sum[r][1]);
    }
  }
  void step(typename S::F x, typename S::F w0, typename S::F w1, int r) {
    sum[r][0] = S::fma(x, w0, sum[r][0]);
    sum[r][1] = S::fma(x, w1, sum[r][1]);
  }
};

// float32 weights: a step is one input, [R] floats against [kPanel] weights.
template <typename S>
struct F32Weights {
  using Input = float;
  using Weight = float;
  static constexpr int kInputs = 1;  // inputs per step
  static constexpr int kInputWords = 1;

  template <int R>
  static void step(BlockSums<S, R>& sums, const Input* a, const Weight* w) {
    const auto w0 = S::load(w), w1 = S::load(w + S::kWidth);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) sums.step(S::set1(a[r]), w0, w1, r);
  }
};

// bf16 weights: a step is a pair of inputs. Without an instruction for bf16 pairs, the inputs are
// floats (rounded to bf16): first the R lower ones, then the R upper ones.
template <typename S, bool kDotsPairs = S::kDotsPairs>
struct Bf16Weights {
  using Input = float;
  using Weight = std::uint32_t;
  static constexpr int kInputs = 2;
  static constexpr int kInputWords = 2;

  template <int R>
  static void step(BlockSums<S, R>& sums, const Input* a, const Weight* w) {
    const auto w0 = S::lower(w), w1 = S::lower(w + S::kWidth);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) sums.step(S::set1(a[r]), w0, w1, r);
    const auto u0 = S::upper(w), u1 = S::upper(w + S::kWidth);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) sums.step(S::set1(a[R + r]), u0, u1, r);
  }
  // Only the lower inputs of the pair.
  template <int R>
  static void half_step(BlockSums<S, R>& sums, const Input* a, const Weight* w) {
    const auto w0 = S::lower(w), w1 = S::lower(w + S::kWidth);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) sums.step(S::set1(a[r]), w0, w1, r);
  }
};

template <typename S>
struct Bf16Weights<S, true> {
  using Input = std::uint32_t;
  using Weight = std::uint32_t;
  static constexpr int kInputs = 2;
  static constexpr int kInputWords = 1;

  template <int R>
  static void dot(BlockSums<S, R>& sums, const Input* a, typename S::Pairs w0,
                  typename S::Pairs w1) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const auto x = S::set1_pairs(a[r]);
      sums.sum[r][0] = S::dot(sums.sum[r][0], x, w0);
      sums.sum[r][1] = S::dot(sums.sum[r][1], x, w1);
    }
  }
  template <int R>
  static void step(BlockSums<S, R>& sums, const Input* a, const Weight* w) {
    dot(sums, a, S::load_pairs(w), S::load_pairs(w + S::kWidth));
  }
  template <int R>
  static void half_step(BlockSums<S, R>& sums, const Input* a, const Weight* w) {
    dot(sums, a, S::lower_only(S::load_pairs(w)), S::lower_only(S::load_pairs(w + S::kWidth)));
  }
};

// Calls f.template operator()<R>() with R equal to `rows`. REQUIRES 1 <= rows <= S::kRows.
template <typename S, int R = S::kRows, typename F>
inline void with_rows(int rows, F&& f) {
  if constexpr (R > 1) {
    if (rows != R) return with_rows<S, R - 1>(rows, f);
  }
  f.template operator()<R>();
}

// The rows of a product are split into blocks of nearly equal size, none above S::kRows.
template <typename S>
struct RowBlocks {
  static int count(int rows) { return (rows + S::kRows - 1) / S::kRows; }
  static int first(int block, int rows) {
    return static_cast<int>(static_cast<std::int64_t>(rows) * block / count(rows));
  }
};

// Stores the sums of a block, plus the bias and what is in the output where the product says so.
template <typename S, int R>
inline void store_block(const Product& p, const BlockSums<S, R>& sums, int first_row, int column) {
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    float* out = p.out.row(first_row + r) + (column - p.first_column);
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half, out += S::kWidth) {
      const int at = column + half * S::kWidth;
      const int left = p.columns - at;
      if (left <= 0) break;
      auto value = sums.sum[r][half];
      if (left >= S::kWidth) {
        if (p.bias) value = S::add(value, S::load(p.bias + at));
        S::store(out, p.add ? S::add(S::load(out), value) : value);
      } else {
        if (p.bias) value = S::add(value, S::load_part(p.bias + at, left));
        if (p.add) value = S::add(S::load_part(out, left), value);
        S::store_part(out, left, value);
      }
    }
  }
}

template <typename S, typename W>
struct ProductLoops {
  using Input = typename W::Input;
  using Weight = typename W::Weight;
  using Blocks = RowBlocks<S>;
  static constexpr bool kScalesLate = S::kDotsPairs && W::kInputs == 2;

  static std::size_t packed_bytes(int rows, int depth) {
    return static_cast<std::size_t>(rows) * input_words(depth) * sizeof(Input);
  }

  static std::size_t scratch_floats(int rows, int) {
    return kDecodedWords + static_cast<std::size_t>(rows) * kPanel * (kScalesLate ? 2 : 1);
  }

  static void pack(void* to, Rows x, int rows, int width, int depth, int from, int until) {
    constexpr int kStep = 2 * S::kWidth;  // one or two cache lines of every row at a time
    for (int block = 0; block < Blocks::count(rows); ++block) {
      const int first = Blocks::first(block, rows), last = Blocks::first(block + 1, rows);
      Input* out = static_cast<Input*>(to) + first * input_words(depth);
      for (int k = from; k < until; k += kStep) {
        for (int row = first; row < last; ++row) {
          for (int i = k; i < k + kStep; i += S::kWidth)
            pack_vector(out + (row - first), last - first, x.row(row), width, i);
        }
      }
    }
  }

  static void multiply(const Product& p, int first_panel, int last_panel) {
    if (p.codes) return multiply_codes(p, first_panel, last_panel);
    const int blocks = Blocks::count(p.rows);
    for (int panel = first_panel; panel < last_panel; ++panel) {
      const Weight* weights = panel_of(p, panel);
      Fetch fetch = first_fetch(p, panel, blocks);
      for (int block = 0; block < blocks; ++block) {
        const int first = Blocks::first(block, p.rows), last = Blocks::first(block + 1, p.rows);
        if (block == 8) fetch.lines = 0;
        with_rows<S>(last - first,
                     [&]<int R>() { multiply_block<R>(p, panel, first, weights, fetch); });
      }
    }
  }

 private:
  static constexpr int kDecodedWords = 128 * kPanel;  // of a panel at a time: 16 KB

  static void multiply_codes(const Product& p, int first_panel, int last_panel) {
    constexpr int kPart = kDecodedWords / kPanel * W::kInputs;
    auto* decoded = reinterpret_cast<Weight*>(p.scratch);
    if constexpr (kScalesLate) {
      if (p.codes->late) return multiply_late<kPart>(p, first_panel, last_panel, decoded);
    }
    float* kept = p.scratch + kDecodedWords;  // sums [rows][kPanel]
    for (int panel = first_panel; panel < last_panel; ++panel) {
      const char* codes = static_cast<const char*>(p.weights) + panel * p.codes->panel_bytes();
      for (int from = 0; from < p.depth; from += kPart) {
        const int until = from + kPart < p.depth ? from + kPart : p.depth;
        Decode<S, W::kInputs>::run(*p.codes, codes, from, until, decoded);
        for (int block = 0; block < Blocks::count(p.rows); ++block) {
          const int first = Blocks::first(block, p.rows), last = Blocks::first(block + 1, p.rows);
          with_rows<S>(last - first, [&]<int R>() {
            multiply_decoded<R>(p, panel, first, decoded, from, until, kept);
          });
        }
      }
    }
  }

  // One group after the other: its sums, then the total of all groups so far.
  template <int kPart>
  static void multiply_late([[maybe_unused]] const Product& p, [[maybe_unused]] int first_panel,
                            [[maybe_unused]] int last_panel, [[maybe_unused]] Weight* decoded) {
#ifdef __AVX512BF16__
    constexpr int kStep = ExactCodes::kStep;
    for (int panel = first_panel; panel < last_panel; ++panel) {
      const char* at = static_cast<const char*>(p.weights) + panel * p.codes->panel_bytes();
      ExactCodes codes(*p.codes, at);
      for (int from = 0, until; from < p.depth; from = until) {
        const int group = codes.group_of(from), end = codes.group_end(group);
        until = from + kPart < end ? from + kPart : end;
        for (int k = from; k < until; k += kStep)
          codes.decode(k, reinterpret_cast<char*>(decoded + (k - from) / 2 * kPanel));
        const typename S::F scales[2] = {codes.scales(group, 0), codes.scales(group, S::kWidth)};
        const GroupPart part{panel,        from,      until, from == group * p.codes->group,
                             until == end, group == 0};
        for (int block = 0; block < Blocks::count(p.rows); ++block) {
          const int first = Blocks::first(block, p.rows), last = Blocks::first(block + 1, p.rows);
          with_rows<S>(last - first,
                       [&]<int R>() { multiply_exact<R>(p, part, first, decoded, scales); });
        }
      }
    }
#endif
  }

  // Inputs [from, until) of a group.
  struct GroupPart {
    int panel, from, until;
    bool begins, ends;  // the group
    bool first;         // it is the first group
  };

  template <int R>
  static void multiply_exact(const Product& p, const GroupPart& part, int first_row,
                             const Weight* w, const typename S::F* scales) {
    const Input* a = static_cast<const Input*>(p.inputs) + first_row * input_words(p.depth) +
                     R * input_words(part.from);
    float* kept = p.scratch + kDecodedWords + first_row * kPanel;  // sums of the group
    float* total = kept + p.rows * kPanel;
    BlockSums<S, R> sums;
    sums.clear();
    if (!part.begins) sums.load(kept);
    for (int step = 0; step < (part.until - part.from) / W::kInputs; step += 4) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        W::step(sums, a, w);
        a += R * W::kInputWords;
        w += kPanel;
      }
    }
    if (!part.ends) return sums.store(kept);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half) {
        const auto before = part.first ? S::zero() : S::load(total + r * kPanel + half * S::kWidth);
        sums.sum[r][half] = S::fma(sums.sum[r][half], scales[half], before);
      }
    }
    if (part.until == p.depth) {
      store_block(p, sums, first_row, part.panel * kPanel);
    } else {
      sums.store(total);
    }
  }

  template <int R>
  static void multiply_decoded(const Product& p, int panel, int first_row, const Weight* weights,
                               int from, int until, float* kept) {
    const Input* inputs = static_cast<const Input*>(p.inputs) + first_row * input_words(p.depth) +
                          R * input_words(from);
    const int groups = (until - from) / W::kInputs / 4;
    for (int column = 0; column < kPanel; column += BlockSums<S, R>::kColumns) {
      BlockSums<S, R> sums;
      sums.clear();
      float* place = kept + first_row * kPanel + column;
      if (from > 0) sums.load(place);
      const Input* a = inputs;
      const Weight* w = weights + column;
      for (int group = 0; group < groups; ++group) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
          W::step(sums, a, w);
          a += R * W::kInputWords;
          w += kPanel;
        }
      }
      if (until == p.depth) {
        store_block(p, sums, first_row, panel * kPanel + column);
      } else {
        sums.store(place);
      }
    }
  }

  static std::ptrdiff_t input_words(int depth) {
    return static_cast<std::ptrdiff_t>(depth / W::kInputs) * W::kInputWords;
  }
  static const Weight* panel_of(const Product& p, int panel) {
    return static_cast<const Weight*>(p.weights) +
           static_cast<std::ptrdiff_t>(panel) * (p.depth / W::kInputs) * kPanel;
  }

  // Prefetch. With one block of rows: the same stream a little ahead, into the L1 cache. With more:
  // the next panel into the L2 cache, spread over the first eight blocks.
  struct Fetch {
    const char* next;
    int lines;  // per four steps
    bool near;
  };
  static Fetch first_fetch(const Product& p, int panel, int blocks) {
    if (blocks == 1) return {reinterpret_cast<const char*>(panel_of(p, panel)) + 4096, 8, true};
    return {reinterpret_cast<const char*>(panel_of(p, panel + 1)), blocks > 8 ? 1 : 8 / blocks,
            false};
  }
  static void advance(Fetch& fetch) {
    for (int line = 0; line < fetch.lines; ++line, fetch.next += 64) {
      if (fetch.near) {
        __builtin_prefetch(fetch.next, 0, 3);
      } else {
        __builtin_prefetch(fetch.next, 0, 2);
      }
    }
  }

  // Packs inputs [k, k + S::kWidth) of a row, `step` words apart.
  static void pack_vector(Input* out, int step, const float* x, int width, int k) {
    constexpr int kWidth = S::kWidth;
    const auto values = k + kWidth <= width ? S::load(x + k) : S::load_part(x + k, width - k);
    out += static_cast<std::ptrdiff_t>(k / W::kInputs) * W::kInputWords * step;
    if constexpr (W::kInputs == W::kInputWords) {
      alignas(64) float numbers[kWidth];
      S::store(numbers, W::kInputs == 1 ? values : S::round_bf16(values));
      for (int i = 0; i < kWidth; ++i) out[i * step] = numbers[i];
    } else {
      alignas(64) std::uint16_t halves[kWidth];
      S::store_bf16(halves, values);
      for (int i = 0; i < kWidth / 2; ++i)
        __builtin_memcpy(out + i * step, halves + 2 * i, sizeof(Input));
    }
  }

  template <int R>
  static void multiply_block(const Product& p, int panel, int first_row, const Weight* weights,
                             Fetch& fetch) {
    const Input* inputs = static_cast<const Input*>(p.inputs) + first_row * input_words(p.depth);
    const int groups = p.depth / W::kInputs / 4;
    for (int column = 0; column < kPanel; column += BlockSums<S, R>::kColumns) {
      BlockSums<S, R> sums;
      sums.clear();
      const Input* a = inputs;
      const Weight* w = weights + column;
      for (int group = 0; group < groups; ++group) {
        if (column == 0) advance(fetch);  // the other columns use the same lines
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
          W::step(sums, a, w);
          a += R * W::kInputWords;
          w += kPanel;
        }
      }
      store_block(p, sums, first_row, panel * kPanel + column);
    }
  }
};

template <typename S, typename W>
constexpr ProductKernels product_kernels() {
  using Loops = ProductLoops<S, W>;
  return {Loops::packed_bytes, Loops::pack, Loops::multiply, Loops::scratch_floats};
}

}  // namespace counterbeam
