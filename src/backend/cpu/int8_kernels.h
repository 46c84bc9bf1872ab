// Products of rows in 8 bits with panels of whole codes (int8_rows.h), for any type of
// int8_vectors.h. Rows are quantised and interleaved in blocks of up to V::kRows:
//   block: for every chunk, scales [rows], first sums [rows], scaled totals [rows],
//          then [inputs / 4][rows][4] bytes
// where a first sum is -zero * sum(q) and a scaled total is sum(q) * scale. A block keeps the sums
// of a chunk in registers; integers may be added in any order, and floats are added chunk by chunk.
//
// With two digits, the same for rows in 16 bits (Int8Chunks): four bytes of the upper digits of all
// rows of the block, then four of the lower ones. Both products are added in int32.
#pragma once

#include "backend/cpu/int8_chunks.h"
#include "backend/cpu/int8_vectors.h"
#include "backend/cpu/product_kernels.h"

namespace counterbeam {

template <typename V, int kDigits>
struct Int8Loops {
  using S = typename V::Simd;
  using F = typename S::F;
  using I = typename V::I;
  using Chunks = Int8Chunks<V, kDigits>;
  struct Size {
    static constexpr int kRows = V::kRows / kDigits;  // of a block
  };
  using Blocks = RowBlocks<Size>;
  static constexpr int kHeader = 12;  // bytes of a row and chunk beside its inputs

  static std::ptrdiff_t row_bytes(const CodePanels& c) {
    return static_cast<std::ptrdiff_t>(c.chunks) * kHeader + kDigits * c.depth;
  }
  static std::size_t packed_bytes(int rows, const CodePanels& c) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(row_bytes(c));
  }

  static std::size_t scratch_floats(int, int) { return 0; }

  static void pack(void* to, Rows x, int rows, int width, const CodePanels& c, int first_chunk,
                   int last_chunk) {
    alignas(64) std::int8_t q[kDigits * Chunks::kBuffer];
    for (int block = 0; block < Blocks::count(rows); ++block) {
      const int first = Blocks::first(block, rows), count = Blocks::first(block + 1, rows) - first;
      for (int chunk = first_chunk; chunk < last_chunk; ++chunk) {
        const int from = chunk * c.chunk, until = c.chunk_end(chunk);
        char* at = static_cast<char*>(to) + first * row_bytes(c) +
                   count * (static_cast<std::ptrdiff_t>(chunk) * kHeader + kDigits * from);
        auto* scales = reinterpret_cast<float*>(at);
        auto* sums = reinterpret_cast<std::int32_t*>(scales + count);
        auto* totals = reinterpret_cast<float*>(sums + count);
        char* inputs = at + count * kHeader;
        for (int r = 0; r < count; ++r) {
          const auto done = Chunks::quantise(x.row(first + r), from, until, width, q);
          scales[r] = done.scale;
          sums[r] = -c.zero * done.total;
          totals[r] = static_cast<float>(done.total) * done.scale;
          for (int i = 0; i < until - from; i += 4)
            for (int d = 0; d < kDigits; ++d)
              __builtin_memcpy(inputs + (kDigits * i + 4 * d) * count + 4 * r,
                               q + d * Chunks::kBuffer + i, 4);
        }
      }
    }
  }

  static void multiply(const Product& p, int first_panel, int last_panel) {
    if (p.codes->kind == CodeKind::Int8)
      return multiply_as<Codes::Bytes>(p, first_panel, last_panel);
    if (p.codes->lookup) return multiply_as<Codes::Lookup>(p, first_panel, last_panel);
    return multiply_as<Codes::Halves>(p, first_panel, last_panel);
  }

 private:
  enum class Codes { Bytes, Halves, Lookup };
  static constexpr int kColumns = 2 * S::kWidth;
  static constexpr int kLine = 4 * kPanel;  // bytes of a line: four inputs of a panel
  static constexpr int kFromMemory = 12288, kFromCache = 2048;

  template <Codes kCodes>
  static void multiply_as(const Product& p, int first_panel, int last_panel) {
    for (int panel = first_panel; panel < last_panel; ++panel) {
      for (int block = 0; block < Blocks::count(p.rows); ++block) {
        const int first = Blocks::first(block, p.rows), last = Blocks::first(block + 1, p.rows);
        with_rows<Size>(last - first, [&]<int R>() {
          for (int column = 0; column < kPanel; column += kColumns)
            multiply_block<kCodes, R>(p, panel, first, column, block == 0 && column == 0);
        });
      }
    }
  }

  // Integer sums of R rows and two vectors of columns. Few rows take turns with several sums: one
  // chain of additions would be slower than memory.
  template <int R>
  struct Sums {
    static constexpr int kTurns = R == 1 ? 4 : R <= 3 ? 2 : 1;
    I sum[kTurns][kDigits][R][2];

    void begin(const std::int32_t* first) {
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
        for (int i = 0; i < kTurns * kDigits; ++i)
          sum[i / kDigits][i % kDigits][r][0] = sum[i / kDigits][i % kDigits][r][1] =
              V::set1(i == kDigits - 1 ? first[r] : 0);
      }
    }
    template <typename Bytes>
    void line(int turn, const std::int8_t* a, const Bytes& b0, const Bytes& b1) {
      const auto& w0 = V::weights(b0);
      const auto& w1 = V::weights(b1);
#pragma GCC unroll 2
      for (int d = 0; d < kDigits; ++d) {
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
          const auto x = V::input(a + 4 * (d * R + r));
          I* own = sum[turn % kTurns][d][r];
          own[0] = V::dot(own[0], x, w0);
          own[1] = V::dot(own[1], x, w1);
        }
      }
    }
    F total(int r, int half) const {
      I all = digit(0, r, half);
      if constexpr (kDigits == 2) all = V::add(V::times_256(all), digit(1, r, half));
      return V::to_float(all);
    }
    I digit(int d, int r, int half) const {
      I all = sum[0][d][r][half];
#pragma GCC unroll 4
      for (int turn = 1; turn < kTurns; ++turn) all = V::add(all, sum[turn][d][r][half]);
      return all;
    }
  };

  // Four lines, and the same of the inputs.
  template <Codes kCodes, int R>
  static void four_lines(Sums<R>& sums, const std::int8_t* a, const std::uint8_t* codes,
                         const CodePanels& c) {
    constexpr int kVector = 4 * S::kWidth, kStep = 4 * R * kDigits;
    if constexpr (kCodes == Codes::Bytes) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        sums.line(i, a + kStep * i, V::load(codes + kLine * i),
                  V::load(codes + kLine * i + kVector));
    } else {
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        const auto b0 = V::load(codes + kLine * i), b1 = V::load(codes + kLine * i + kVector);
        auto l0 = V::low_half(b0), l1 = V::low_half(b1);
        auto h0 = V::high_half(b0), h1 = V::high_half(b1);
        if constexpr (kCodes == Codes::Lookup) {
          const auto table = V::table(c.bytes.data());
          l0 = V::lookup(table, l0), l1 = V::lookup(table, l1);
          h0 = V::lookup(table, h0), h1 = V::lookup(table, h1);
        }
        sums.line(2 * i, a + 2 * kStep * i, l0, l1);
        sums.line(2 * i + 1, a + 2 * kStep * i + kStep, h0, h1);
      }
    }
  }

  template <Codes kCodes, int R>
  static void multiply_block(const Product& p, int panel, int first_row, int column, bool fetch) {
    constexpr int kFourBytes = kCodes == Codes::Bytes ? 4 * kLine : 2 * kLine;
    const CodePanels& c = *p.codes;
    const char* weights = static_cast<const char*>(p.weights) + panel * c.panel_bytes();
    const char* at = static_cast<const char*>(p.inputs) + first_row * row_bytes(c);
    BlockSums<S, R> total;
    total.clear();
    const float* head = nullptr;
    const std::uint8_t* codes = nullptr;
    for (int chunk = 0, in_group = c.group; chunk < c.chunks; ++chunk, in_group += c.chunk) {
      if (in_group == c.group) {
        in_group = 0;
        head = reinterpret_cast<const float*>(weights);
        codes = reinterpret_cast<const std::uint8_t*>(weights) + c.head_bytes() + 4 * column;
        weights += c.head_bytes() + c.code_bytes(c.group);
      }
      const auto* scales = reinterpret_cast<const float*>(at);
      const auto* begin = reinterpret_cast<const std::int32_t*>(scales + R);
      const auto* totals = reinterpret_cast<const float*>(begin + R);
      const auto* a = reinterpret_cast<const std::int8_t*>(at + kHeader * R);
      const int inputs = c.chunk_end(chunk) - chunk * c.chunk;
      at += static_cast<std::ptrdiff_t>(kHeader + kDigits * inputs) * R;
      Sums<R> sums;
      sums.begin(begin);
      for (int i = 0; i < inputs; i += 16, a += 16 * kDigits * R, codes += kFourBytes) {
        if (fetch) {
#pragma GCC unroll 8
          for (int line = 0; line < kFourBytes; line += 64) {
            __builtin_prefetch(codes + kFromMemory + line, 0, 2);
            __builtin_prefetch(codes + kFromCache + line, 0, 3);
          }
        }
        four_lines<kCodes, R>(sums, a, codes, c);
      }
      add_chunk(total, sums, scales, totals, head + column, c.offsets);
    }
    store_block(p, total, first_row, panel * kPanel + column);
  }

  template <int R>
  static void add_chunk(BlockSums<S, R>& total, const Sums<R>& sums, const float* scales,
                        const float* totals, const float* head, bool offsets) {
    const F w[2] = {S::load(head), S::load(head + S::kWidth)};
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const F scale = S::set1(scales[r]);
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half)
        total.sum[r][half] =
            S::fma(sums.total(r, half), S::mul(scale, w[half]), total.sum[r][half]);
    }
    if (!offsets) return;
    const F o[2] = {S::load(head + kPanel), S::load(head + kPanel + S::kWidth)};
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const F all = S::set1(totals[r]);
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half)
        total.sum[r][half] = S::fma(all, o[half], total.sum[r][half]);
    }
  }
};

template <typename V, int kDigits = 1>
constexpr IntegerKernels int8_kernels() {
  using Loops = Int8Loops<V, kDigits>;
  return {Loops::packed_bytes, Loops::pack, Loops::multiply, Loops::scratch_floats};
}

}  // namespace counterbeam
