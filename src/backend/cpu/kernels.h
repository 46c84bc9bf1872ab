// The kernels of the CPU back end: one table of functions per instruction set. A kernel computes a
// row (or a row and head) in one fixed order of operations, however many rows it is given.
//
// Weights are stored in panels of kPanel output columns, each with the whole depth (the inputs,
// padded with zeros to a multiple of kDepthStep), so that a product is one stream through memory:
//   float32  [panel][depth][kPanel]        bf16  [panel][depth / 2][kPanel][2]
// Quantised weights stay codes (struct CodePanels); a product decodes them on the way to its
// registers, in parts that stay in the cache, into the layout above.
// A page of keys is one such panel per head (columns are tokens, depth is the head's width), a page
// of values is width / kPanel panels (columns are the head's width, depth is tokens). A cache of 8
// bits has the scales of the tokens, then codes, a byte each, in the layout of float32.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/shapes.h"
#include "base/ids.h"
#include "tensor/code_layout.h"

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

// Panels of quantised weights. The codes of a panel are in the order of the numbers that they stand
// for, one byte each; or two lines in one (a line is one index of depth or depth / 2 above), the
// first one in the lower halves of the bytes. A panel is a run per group: scales [kPanel], then
// offsets [kPanel] if there are any, then the codes of the group. With an `order`, the scales and
// offsets of all groups come first, then all codes.
//
// Codes that are multiplied by rows of integers (int8_rows.h) are unsigned bytes, or indices of
// `bytes`; less `zero` they are the values. A line has four inputs: [depth / 4][kPanel][4].
struct CodePanels {
  CodeKind kind = CodeKind::Int8;
  int depth = 0;   // padded
  int group = 0;   // inputs of a run, a multiple of 16; the last run may have more or fewer
  int groups = 1;  // with an order: of the scales
  bool offsets = false;
  // Whether scales can be applied to sums instead of weights: groups of at least 64, and codes less
  // their zero points are numbers that bf16 holds exactly.
  bool late = false;
  const float* table = nullptr;         // [16], for Int4
  const std::int32_t* order = nullptr;  // [depth] the group of every input, or none

  int chunk = 0;   // > 0: for rows of integers; inputs that share a scale of the row
  int chunks = 0;  // of a row; the last one may have more or fewer inputs
  int zero = 0;
  bool lookup = false;                   // Int4: through `bytes`; else the code is the byte
  std::array<std::uint8_t, 16> bytes{};  // Int4
  int chunk_end(int index) const { return index + 1 < chunks ? (index + 1) * chunk : depth; }

  std::ptrdiff_t head_bytes() const { return (offsets ? 2 : 1) * kPanel * 4; }
  std::ptrdiff_t code_bytes(std::ptrdiff_t inputs) const {
    return inputs * kPanel / (kind == CodeKind::Int4 ? 2 : 1);
  }
  std::ptrdiff_t panel_bytes() const { return groups * head_bytes() + code_bytes(depth); }
};

struct Product {
  const void* inputs = nullptr;  // packed by ProductKernels::pack
  const void* weights = nullptr;
  int rows = 0;
  int depth = 0;    // padded
  int columns = 0;  // outputs, not padded
  Rows out;
  int first_column = 0;                // the output that is stored to column 0 of `out`
  const float* bias = nullptr;         // [columns] or none
  bool add = false;                    // to what is in `out`
  const void* next_weights = nullptr;  // to prefetch: what the next product reads, or null
  const CodePanels* codes = nullptr;   // the weights are codes; null: numbers
  float* scratch = nullptr;            // with codes: ProductKernels::scratch_floats
  void (*multiply)(const Product& product, int first_panel, int last_panel) = nullptr;
  // The part of the depth that is added now: after the first one, to what is in `out`. Only where
  // ProductKernels::depth_part says less than `depth`; until = 0: the whole depth.
  int from = 0, until = 0;

  bool takes_integers() const { return codes && codes->chunk > 0; }
};

// GEMM with one type of weights. pack() converts inputs [from, until) of all rows, both multiples
// of kDepthStep; ranges may be packed in parallel.
struct ProductKernels {
  std::size_t (*packed_bytes)(int rows, int depth);
  void (*pack)(void* to, Rows x, int rows, int width, int depth, int from, int until);
  void (*multiply)(const Product& product, int first_panel, int last_panel);
  std::size_t (*scratch_floats)(int rows, int depth);  // of one thread, for codes
  // How much of the depth all columns are best multiplied by at a time; null: the whole depth.
  int (*depth_part)(int rows, int depth) = nullptr;
};

// The same for codes that are multiplied by rows of integers (int8_rows.h). Ranges of chunks may be
// packed in parallel.
struct IntegerKernels {
  std::size_t (*packed_bytes)(int rows, const CodePanels& codes);
  void (*pack)(void* to, Rows x, int rows, int width, const CodePanels& codes, int first_chunk,
               int last_chunk);
  void (*multiply)(const Product& product, int first_panel, int last_panel);
  std::size_t (*scratch_floats)(int rows, int depth);  // of one thread
};

// Consecutive tokens of a sequence and the query heads that share one key head.
struct AttentionHead {
  const float* queries = nullptr;  // [tokens] rows of [group, width], at query_stride
  float* out = nullptr;            // the same layout, at out_stride
  std::ptrdiff_t query_stride = 0;
  std::ptrdiff_t out_stride = 0;
  const std::byte* store = nullptr;  // this head and layer in page 0: keys, then values
  const PageId* pages = nullptr;     // of the sequence
  std::ptrdiff_t page_bytes = 0;
  std::ptrdiff_t half_bytes = 0;  // from the keys of a page to its values
  CacheType type = CacheType::Plain;
  int tokens = 1;
  int position = 0;  // of the first one
  int window = 0;    // > 0: how far back a token sees, itself included
  int group = 0;
  int width = 0;  // of a head
  float scale = 0;

  // The first page that is read, a multiple of kStepPages: pages are taken kStepPages at a time.
  static constexpr int kStepPages = 4;
  int first_step() const { return first_seen(0) / kPanel / kStepPages * kStepPages; }
  int last_page() const { return (last_seen(tokens - 1) + kPanel - 1) / kPanel; }
  const std::byte* page(int index) const {
    return store + static_cast<std::ptrdiff_t>(pages[index]) * page_bytes;
  }
  // Token number `token` of this run sees tokens [first_seen, last_seen) of the sequence.
  int last_seen(int token) const { return position + token + 1; }
  int first_seen(int token) const {
    const int last = last_seen(token);
    return window > 0 && last > window ? last - window : 0;
  }
};

// Of the keys, or of the values, of a head in a page of codes.
inline constexpr std::ptrdiff_t kScaleBytes = kPanel * 4;

// Sequences that are computed together, for one layer and key head. REQUIRES, if there are several,
// at most Kernels::attention_rows rows (tokens times query heads), at most 16 rows per sequence,
// and the same first_step() for all.
struct AttentionJob {
  const AttentionHead* heads = nullptr;
  int count = 0;
  int shared = 0;                      // leading pages that all share and see all tokens of
  const AttentionJob* next = nullptr;  // to prefetch: the job that probably comes next, or null
};

// A range of channels of a causal convolution over consecutive tokens:
// out[t] = silu(sum over i of weight[i] * x[t - taps + 1 + i]); `out` may be x. REQUIRES at most
// kConvChannels channels and kMaxTaps taps.
struct ConvStrip {
  Rows out;
  Rows x;
  Rows weight;  // [taps]
  Rows kept;    // [taps - 1] inputs before the first token, oldest first; advanced
  int taps = 0;
  int tokens = 0;
  int channels = 0;
};
inline constexpr int kMaxTaps = 16;
inline constexpr int kConvChannels = 512;

// One value head of the Gated DeltaNet over consecutive tokens.
struct DeltaHead {
  const float* q = nullptr;  // [tokens, key_dim] at `stride`, as k and v are
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

// The state of a head if tokens are taken in chunks, with offsets in floats: keys (as two bf16
// numbers each), updates and decays of the open chunk's tokens, and S as of its beginning.
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

// The summary of a block of logits: the largest, the sum of exp(scale * (logit - largest)), and
// whether all are finite.
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
  // Rotates the pairs (x[j], x[half + j]) by cosines [half] and sines [half].
  void (*rope)(float* x, const float* cosines, const float* sines, int half);
  void (*silu_mul)(float* out, const float* gate, const float* up, int width);
  void (*gelu_mul)(float* out, const float* gate, const float* up, int width);
  void (*sigmoid_gate)(float* out, const float* gate, int width);
  void (*conv)(const ConvStrip& strip);

  void (*attention_f32)(const AttentionJob& job, float* scratch);
  void (*attention_bf16)(const AttentionJob& job, float* scratch);
  // Over a cache of 8 bits, whose type the job names.
  void (*attention_codes_f32)(const AttentionJob& job, float* scratch);
  void (*attention_codes_bf16)(const AttentionJob& job, float* scratch);
  int attention_rows;  // the best size of a job: tokens times query heads
  void (*delta)(const DeltaHead& head, float* scratch);
  void (*delta_chunks)(const DeltaHead& head, float* scratch);  // for bf16; null: not available

  LogitBlock (*logit_block)(const float* logits, int count, float scale);
  // Writes the terms exp(scale * (logit - largest)) and returns their sum.
  float (*exp_terms)(float* terms, const float* logits, int count, float scale, float largest);
};

// Floats of scratch that the attention and delta kernels need.
inline constexpr int attention_scratch(int group, int width) {
  const int vectors = (group + 16) * (3 * round_up(width, kPanel) + 4 * kPanel + 16);
  const int tiles = 216 * round_up(width, kPanel) + 9216;  // AMX
  return vectors > tiles ? vectors : tiles;
}
inline constexpr int delta_scratch(int key_dim, int value_dim) {  // vector code: 32 * key_dim
  return 64 * round_up(key_dim, kDepthStep) + 48 * round_up(value_dim, kPanel) + 2560;
}

const Kernels& generic_kernels();
const Kernels& avx2_kernels();
const Kernels& avx512_kernels();
const Kernels& avx512_bf16_kernels();
const Kernels& amx_kernels();

const IntegerKernels& int8_generic_kernels();
const IntegerKernels& int8_avx2_kernels();
const IntegerKernels& int8_avx_vnni_kernels();
const IntegerKernels& int8_avx512_kernels();
const IntegerKernels& int8_avx512_vnni_kernels();
const IntegerKernels& int8_amx_kernels();
// Rows in 16 bits, for the same panels.
const IntegerKernels& int16_avx512_vnni_kernels();

}  // namespace counterbeam
