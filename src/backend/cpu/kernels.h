// The inner loops of the CPU back end, one table per instruction set. Every function computes a
// row (or a row and head) in one fixed order of operations, however many rows are asked for.
//
// Weights lie in panels of kPanel output columns, each holding the whole depth (the inputs, padded
// with zeros to a multiple of kDepthStep), so that a product streams through memory once:
//   float32  [panel][depth][kPanel]        bf16  [panel][depth / 2][kPanel][2]
// A page of keys is one such panel per head (columns are tokens, depth is the head's width), a page
// of values is width / kPanel panels (columns are the head's width, depth is tokens).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"

namespace counterbeam {

inline constexpr int kPanel = 32;
inline constexpr int kDepthStep = 32;

inline constexpr int round_up(int value, int step) {
  return (value + step - 1) / step * step;
}

// Rows of floats.
struct Rows {
  float* data = nullptr;
  std::ptrdiff_t stride = 0;
  float* row(int index) const { return data + index * stride; }
};

struct Product {
  const void* inputs = nullptr;  // as `pack` leaves them
  const void* weights = nullptr;
  int rows = 0;
  int depth = 0;    // padded
  int columns = 0;  // outputs, not padded
  Rows out;
  int first_column = 0;                // the output that stands at column 0 of `out`
  const float* bias = nullptr;         // [columns] or none
  bool add = false;                    // to what is in `out`
  const void* next_weights = nullptr;  // what the next product reads, where that is known
};

// The product of one kind of weights. Inputs [from, until) of all rows, both a multiple of
// kDepthStep, are packed by themselves.
struct ProductKernels {
  std::size_t (*packed_bytes)(int rows, int depth);
  void (*pack)(void* to, Rows x, int rows, int width, int depth, int from, int until);
  void (*multiply)(const Product& product, int first_panel, int last_panel);
};

// Some consecutive tokens of a sequence and the query heads that share one key head.
struct AttentionHead {
  const float* queries = nullptr;  // [tokens] rows of [group, width], at query_stride
  float* out = nullptr;            // likewise, at out_stride
  std::ptrdiff_t query_stride = 0;
  std::ptrdiff_t out_stride = 0;
  const std::byte* store = nullptr;  // keys of this head and layer in page 0, values behind them
  const PageId* pages = nullptr;     // of the sequence
  std::ptrdiff_t page_bytes = 0;
  int tokens = 1;
  int position = 0;  // of the first one
  int window = 0;    // > 0: how far back a token sees, itself included
  int group = 0;
  int width = 0;  // of a head
  float scale = 0;

  // Pages from which on they are taken, kStepPages at a time.
  static constexpr int kStepPages = 4;
  int first_step() const { return first_seen(0) / kPanel / kStepPages * kStepPages; }
  int last_page() const { return (last_seen(tokens - 1) + kPanel - 1) / kPanel; }
  const std::byte* page(int index) const {
    return store + static_cast<std::ptrdiff_t>(pages[index]) * page_bytes;
  }
  // Tokens [first_seen, last_seen) are seen by token `token` of these.
  int last_seen(int token) const { return position + token + 1; }
  int first_seen(int token) const {
    const int last = last_seen(token);
    return window > 0 && last > window ? last - window : 0;
  }
};

// Sequences worked on together, of one layer and key head. REQUIRES where they are several: up to
// Kernels::attention_rows tokens times query heads, 16 at most to a sequence, and the same
// first_step() of all.
struct AttentionJob {
  const AttentionHead* heads = nullptr;
  int count = 0;
  int shared = 0;                      // pages that all begin with, and see to their end
  const AttentionJob* next = nullptr;  // what is likely asked for after this, if known
};

// Some channels of a causal convolution over consecutive tokens:
// out[t] = silu(sum over i of weight[i] * x[t - taps + 1 + i]); `out` may be x. At most
// kConvChannels of them, and kMaxTaps taps.
struct ConvStrip {
  Rows out;
  Rows x;
  Rows weight;  // [taps]
  Rows kept;    // [taps - 1] inputs before the first token, oldest first; moved on
  int taps = 0;
  int tokens = 0;
  int channels = 0;
};
inline constexpr int kMaxTaps = 16;
inline constexpr int kConvChannels = 512;

// One value head of the Gated DeltaNet over consecutive tokens.
struct DeltaHead {
  const float* q = nullptr;  // [tokens, key_dim] at `stride`, likewise k and v
  const float* k = nullptr;
  const float* v = nullptr;
  std::ptrdiff_t stride = 0;
  const float* decay = nullptr;  // [tokens] e^g
  const float* beta = nullptr;   // [tokens] after the sigmoid
  float* state = nullptr;        // [value_dim / kStateColumns][key_dim][kStateColumns], or a
                                 // DeltaChunk
  Rows out;                      // [tokens, value_dim]
  int tokens = 0;
  int position = 0;  // of the first one
  int key_dim = 0;
  int value_dim = 0;
};
inline constexpr int kStateColumns = 32;

// What the state of a head holds where tokens are taken in chunks, and where, in floats: of the
// tokens of the open chunk keys (two bf16 numbers each), updates and decays, and S of its
// beginning.
inline constexpr int kDeltaChunk = 16;
struct DeltaChunk {
  std::ptrdiff_t depth, width;
  constexpr DeltaChunk(int key_dim, int value_dim)
      : depth(round_up(key_dim, kDepthStep)), width(round_up(value_dim, kStateColumns)) {}
  constexpr std::ptrdiff_t keys() const { return 0; }
  constexpr std::ptrdiff_t updates() const { return keys() + kDeltaChunk * depth; }
  constexpr std::ptrdiff_t decays() const { return updates() + kDeltaChunk * width; }
  constexpr std::ptrdiff_t s() const { return decays() + kDeltaChunk; }
  constexpr std::ptrdiff_t floats() const { return s() + depth * width; }
};

// Of `count` logits: the largest, the sum of exp(scale * (logit - largest)), and whether all are
// finite.
struct LogitBlock {
  float largest = 0;
  float sum = 0;
  bool finite = true;
};

struct Kernels {
  ProductKernels f32;
  ProductKernels bf16;

  void (*rms_norm)(float* out, const float* x, const float* weight, int width, float eps,
                   float centre);
  void (*gated_norm)(float* out, const float* x, const float* gate, const float* weight, int width,
                     float eps);
  // Halves (x[j], x[half + j]) turned by cosines [half] and sines [half].
  void (*rope)(float* x, const float* cosines, const float* sines, int half);
  void (*silu_mul)(float* out, const float* gate, const float* up, int width);
  void (*sigmoid_gate)(float* out, const float* gate, int width);
  void (*conv)(const ConvStrip& strip);

  void (*attention_f32)(const AttentionJob& job, float* scratch);
  void (*attention_bf16)(const AttentionJob& job, float* scratch);
  int attention_rows;  // tokens times query heads that are best taken together
  void (*delta)(const DeltaHead& head, float* scratch);
  void (*delta_chunks)(const DeltaHead& head, float* scratch);  // in bf16, where there is one

  LogitBlock (*logit_block)(const float* logits, int count, float scale);
  // The sum of exp(scale * (logit - largest)), and the terms themselves.
  float (*exp_terms)(float* terms, const float* logits, int count, float scale, float largest);
};

// Floats of scratch that attention and delta want.
inline constexpr int attention_scratch(int group, int width) {
  const int vectors = (group + 16) * (3 * round_up(width, kPanel) + 4 * kPanel + 16);
  const int tiles = 136 * round_up(width, kPanel) + 9216;  // of AMX
  return vectors > tiles ? vectors : tiles;
}
inline constexpr int delta_scratch(int key_dim, int value_dim) {  // vectors want 32 * key_dim
  return 64 * round_up(key_dim, kDepthStep) + 48 * round_up(value_dim, kPanel) + 2560;
}

const Kernels& generic_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
const Kernels& avx512_bf16_kernels();
const Kernels& amx_kernels();

}  // namespace counterbeam
