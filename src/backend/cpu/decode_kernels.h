// Decodes panels of codes (CodePanels) into the layout of plain weights, bf16 or float32: the
// number of a code times its scale, plus its offset, in float32, rounded once to bf16. The memory
// ahead is prefetched: codes are read once, in order.
#pragma once

#include "backend/cpu/kernels.h"

namespace counterbeam {

// kInputs: 2 for bf16 ([depth / 2][kPanel][2]), 1 for float32 ([depth][kPanel]).
template <typename S, int kInputs>
struct Decode {
  using F = typename S::F;
  static constexpr int kLine = kPanel * kInputs;                // codes of one line
  static constexpr int kVectors = kLine / S::kWidth;            // of one line
  static constexpr int kColumns = S::kWidth / kInputs;          // columns of a vector
  static constexpr int kFromMemory = 12288, kFromCache = 2048;  // bytes ahead of the codes

  // Decodes the inputs [from, until) of a panel. REQUIRES multiples of 16.
  static void run(const CodePanels& c, const char* panel, int from, int until, void* to) {
    if (c.order) return run_ordered(c, panel, from, until, to);
    auto* out = static_cast<char*>(to);
    const std::ptrdiff_t head = c.head_bytes(), run_bytes = head + c.code_bytes(c.group);
    for (int at = from; at < until;) {
      const int g = at / c.group < c.groups ? at / c.group : c.groups - 1;
      const int last = g + 1 < c.groups ? (g + 1) * c.group : c.depth;
      const int end = last < until ? last : until;
      const char* run = panel + g * run_bytes;
      const auto* codes =
          reinterpret_cast<const std::uint8_t*>(run + head + c.code_bytes(at - g * c.group));
      lines(c, reinterpret_cast<const float*>(run), codes, (end - at) / kInputs, out);
      out += static_cast<std::ptrdiff_t>(end - at) * kPanel * (4 / kInputs);
      at = end;
    }
  }

 private:
  static F spread(const float* from) {
    if constexpr (kInputs == 2) {
      return S::twice(from);
    } else {
      return S::load(from);
    }
  }
  static void put(char* to, F x) {
    if constexpr (kInputs == 2) {
      S::store_bf16(reinterpret_cast<std::uint16_t*>(to), x);
    } else {
      S::store(reinterpret_cast<float*>(to), x);
    }
  }
  static void fetch(const std::uint8_t* codes) {
    __builtin_prefetch(codes + kFromMemory, 0, 2);
    __builtin_prefetch(codes + kFromCache, 0, 3);
  }

  // `count` lines of one group.
  static void lines(const CodePanels& c, const float* head, const std::uint8_t* codes, int count,
                    char* out) {
    switch (c.kind) {
      case CodeKind::Int8:
        return c.offsets ? byte_lines<false, true>(head, codes, count, out)
                         : byte_lines<false, false>(head, codes, count, out);
      case CodeKind::E4M3:
        return byte_lines<true, false>(head, codes, count, out);
      case CodeKind::Int4:
        return c.offsets ? half_lines<true>(c.table, head, codes, count, out)
                         : half_lines<false>(c.table, head, codes, count, out);
    }
  }

  template <bool kOffsets>
  struct Scales {
    F scale[kVectors], offset[kOffsets ? kVectors : 1];
    explicit Scales(const float* head) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        scale[v] = spread(head + v * kColumns);
        if constexpr (kOffsets) offset[v] = spread(head + kPanel + v * kColumns);
      }
    }
    F apply(F x, int v) const {
      if constexpr (kOffsets) {
        return S::fma(x, scale[v], offset[v]);
      } else {
        return S::mul(x, scale[v]);
      }
    }
  };
  static constexpr int kVectorBytes = S::kWidth * (4 / kInputs);

  template <bool kFp8, bool kOffsets>
  static void byte_lines(const float* head, const std::uint8_t* codes, int count, char* out) {
    const Scales<kOffsets> scales(head);
    for (int line = 0; line < count; ++line) {
      fetch(codes);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v, codes += S::kWidth, out += kVectorBytes)
        put(out, scales.apply(kFp8 ? S::fp8(codes) : S::bytes(codes), v));
    }
  }

  template <bool kOffsets>
  static void half_lines(const float* table, const float* head, const std::uint8_t* codes,
                         int count, char* out) {
    const Scales<kOffsets> scales(head);
    constexpr int kLineBytes = kVectors * kVectorBytes;
    for (int pair = 0; pair < count / 2; ++pair, out += kLineBytes) {
      fetch(codes);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v, codes += S::kWidth, out += kVectorBytes) {
        put(out, scales.apply(S::lookup(codes, false, table), v));
        put(out + kLineBytes, scales.apply(S::lookup(codes, true, table), v));
      }
    }
  }

  // The scales of every line are gathered first: they may differ from input to input.
  static void run_ordered(const CodePanels& c, const char* panel, int from, int until, void* to) {
    auto* out = static_cast<char*>(to);
    const auto* heads = reinterpret_cast<const float*>(panel);
    const int head_floats = static_cast<int>(c.head_bytes() / 4);
    const auto* codes = reinterpret_cast<const std::uint8_t*>(panel + c.groups * c.head_bytes());
    float scale[kLine], offset[kLine];
    for (int i = 0; i < kLine; ++i) offset[i] = 0;
    for (int at = from; at < until; at += kInputs) {
      for (int i = 0; i < kInputs; ++i) {
        const float* head = heads + static_cast<std::ptrdiff_t>(c.order[at + i]) * head_floats;
        for (int column = 0; column < kPanel; ++column) {
          scale[column * kInputs + i] = head[column];
          if (c.offsets) offset[column * kInputs + i] = head[kPanel + column];
        }
      }
      const bool half = c.kind == CodeKind::Int4;
      const int line = at / kInputs;
      const std::uint8_t* own = codes + static_cast<std::ptrdiff_t>(half ? line / 2 : line) * kLine;
      for (int v = 0; v < kVectors; ++v, own += S::kWidth, out += kVectorBytes) {
        const F x = half                       ? S::lookup(own, line % 2 == 1, c.table)
                    : c.kind == CodeKind::E4M3 ? S::fp8(own)
                                               : S::bytes(own);
        put(out, S::fma(x, S::load(scale + v * S::kWidth), S::load(offset + v * S::kWidth)));
      }
    }
  }
};

}  // namespace counterbeam
