// The kernel launches of the CUDA back end. Every function puts kernels on a stream and returns;
// none allocates or synchronises, and none reads the batch on the host beyond the counts in
// DeviceBatch, so that a step can be captured as a CUDA graph and replayed over other rows.
//
// Row invariance: what a kernel computes for a row depends on that row and its own sequence alone,
// never on the number of rows, on padding, or on how rows were split into batches.
//
// Activations are bf16 matrices (Matrix with 2-byte elements) on the device, rows 16-byte aligned.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include "backend/sampling.h"
#include "backend/shapes.h"

namespace counterbeam::cuda {

using Bf16 = __nv_bfloat16;

// The rows of a step. The arrays keep their device addresses from step to step. The counts are
// rounded up to a bucket: rows beyond the real count are padding, with position -1, and kernels
// skip them (or write anything to their outputs).
struct DeviceSegment {
  int first_row, rows;  // rows 0: padding
  int position;         // of the first row
  int first_page;       // where its page ids begin in DeviceBatch::pages
  int state;
};

// Attention takes keys in tiles of 64 at fixed positions. Rows whose sequences share the pages of a
// tile read it together (tile_sharing.h).
constexpr int kTileKeys = 64;
constexpr int kTilePages = kTileKeys / kPageTokens;
constexpr int kTileReaders = 4;  // as many as a search forks beams from one survivor by default

struct alignas(16) SharedTile {
  int tile;
  int pages[kTilePages];  // 0 beyond the last
  short stored;           // keys stored so far, this step's included
  signed char settled;    // whether all keys were stored before this step
  signed char readers;
  int row[kTileReaders];
  int position[kTileReaders];  // of the rows
};

struct DeviceBatch {
  const int* ids;                 // [rows]
  const int* row_segment;         // [rows], of real rows
  const int* row_position;        // [rows]; -1: padding
  const DeviceSegment* segments;  // [segment_count]
  const int* pages;
  int rows = 0;
  int segment_count = 0;
  int longest_segment = 0;  // bound on DeviceSegment::rows
  int longest_context = 0;  // bound on position + rows of any segment
  // The tiles of segments with few rows, with room for one per row and tile of the longest context;
  // null: not listed for this step.
  const SharedTile* tiles = nullptr;
  const int* tile_count = nullptr;  // on the device, since it differs from step to step
};

// Keys and values: two arrays [layers][pages][heads] of blocks. A block has [kPageTokens][head_dim]
// numbers; in a cache of 8 bits, a scale per token (float), then codes [kPageTokens][head_dim].
__host__ __device__ constexpr int block_elements(const KvShape& shape) {  // of Bf16
  return shape.type == CacheType::Plain ? kPageTokens * shape.head_dim
                                        : kPageTokens * (shape.head_dim + int(sizeof(float))) / 2;
}
struct KvView {
  Bf16* keys;
  Bf16* values;
  KvShape shape;
  int pages;
};

// Recurrent states: per slot, per layer, [conv_width - 1][conv_channels] then
// [value_heads][key_dim][value_dim], float32.
struct StateView {
  float* slots;
  StateShape shape;
  std::size_t conv_floats() const {
    return std::size_t(shape.conv_width - 1) * std::size_t(shape.conv_channels());
  }
  std::size_t memory_floats() const {
    return std::size_t(shape.value_heads) * std::size_t(shape.key_dim) *
           std::size_t(shape.value_dim);
  }
  std::size_t slot_floats() const {
    return std::size_t(shape.layers) * (conv_floats() + memory_floats());
  }
};

// rows.cu, norms.cu
void embed(cudaStream_t stream, Matrix out, const Bf16* table_blocks, float scale,
           const DeviceBatch& batch);
void rms_norm(cudaStream_t stream, Matrix out, Matrix x, const float* weight, int size, float eps,
              bool zero_centred);
void silu_mul(cudaStream_t stream, Matrix out, Matrix gate, Matrix up);
void gelu_mul(cudaStream_t stream, Matrix out, Matrix gate, Matrix up);
void add(cudaStream_t stream, Matrix sum, Matrix x);
void sigmoid_gate(cudaStream_t stream, Matrix out, Matrix gate);
void split_heads(cudaStream_t stream, Matrix first, Matrix second, Matrix x, int heads);
// split_heads of q_gate into q and gate, rms_norm of the heads of q and, in place, of k.
void split_and_norm(cudaStream_t stream, Matrix q, Matrix gate, Matrix q_gate, Matrix k,
                    const float* q_weight, const float* k_weight, int head_dim, float eps,
                    bool zero_centred);
void gather(cudaStream_t stream, Matrix out, Matrix x, const int* rows);  // rows on the device
void gated_norm(cudaStream_t stream, Matrix out, Matrix x, Matrix gate, const float* weight,
                int size, float eps);

// attention.cpp, rope_store.cu
struct DeviceRope {
  const float* inverse_frequency;  // [half], on the device
  int half;
  float scale;
};
void rope(cudaStream_t stream, Matrix x, int heads, const DeviceRope& rope,
          const DeviceBatch& batch);
void store_kv(cudaStream_t stream, const KvView& kv, int layer, Matrix k, Matrix v,
              const DeviceBatch& batch);
// rope of q and of k, in place, and store_kv, in one launch.
void rope_and_store(cudaStream_t stream, Matrix q, Matrix k, Matrix v, int heads,
                    const DeviceRope& rope, const KvView& kv, int layer, const DeviceBatch& batch);
constexpr int kMostHeadDim = 256;
// `workspace`: attention_workspace() bytes, enough for any batch with no more rows and no longer a
// context; nothing is kept in it between launches. REQUIRES scale > 0, head_dim <=
// kMostHeadDim, and that the batch's arrays and the keys and values before DeviceSegment::position
// are written before the step's first kernel starts: they are read while preceding kernels still
// run.
std::size_t attention_workspace(int rows, int heads, int head_dim, int longest_context);
void attention(cudaStream_t stream, Matrix out, Matrix q, const KvView& kv, int layer, int heads,
               float scale, int window, const DeviceBatch& batch, void* workspace);

// causal_conv.cu, delta_net.cu. `out` must not be an input; the states of the segments advance.
// REQUIRES that the batch's arrays and this layer's states are written before the step's first
// kernel starts: they are read while preceding kernels still run.
void causal_conv(cudaStream_t stream, Matrix out, Matrix x, const float* weight,
                 const StateView& states, int layer, const DeviceBatch& batch);
struct DeltaInputs {
  Matrix qkv, beta, decay;
  const float* a_log;
  const float* dt_bias;
};
void delta_net(cudaStream_t stream, Matrix out, const DeltaInputs& in, const StateView& states,
               int layer, const DeviceBatch& batch);
// delta_net, then gated_norm of every head: in the same launch if a thread block computes a whole
// head.
void gated_delta_net(cudaStream_t stream, Matrix out, const DeltaInputs& in, Matrix gate,
                     const float* weight, float eps, const StateView& states, int layer,
                     const DeviceBatch& batch);

// copies.cu. Copies of pages or states that may run in any order: none reads or writes what another
// one writes.
struct CopyList {
  static constexpr int kMost = 64;
  int count = 0;
  int from[kMost] = {}, to[kMost] = {}, tokens[kMost] = {};

  bool takes(int source, int target) const {
    bool clashes = false;
    for (int i = 0; i < count; ++i)
      clashes |= to[i] == source || to[i] == target || from[i] == target;
    return count < kMost && !clashes;
  }
  void add(int source, int target, int its_tokens) {
    from[count] = source;
    to[count] = target;
    tokens[count++] = its_tokens;
  }
};
void copy_states(cudaStream_t stream, const StateView& states, const CopyList& copies);
// The first `tokens` of each page, of all layers.
void copy_pages(cudaStream_t stream, const KvView& kv, const CopyList& copies);

// head.cpp. A HeadJob for the kernels, made by device_job() of head_job.h. Padding jobs get no
// result. REQUIRES a vocabulary of at most 2^20 ids.
struct DeviceJob {
  int row = -1;      // of the logits; -1: padding
  int given = -1;    // >= 0: score this token
  int follows = -1;  // >= 0: score the token that this job of the same launch draws
  Sampling sampling;
  int vocab_limit = 0;           // > 0: only ids below are drawn
  int first_mix = 0, mixes = 0;  // of DeviceMix; 0 mixes: draw from `row`
  float plausibility = 0;
  // Computed on the host, so that every back end uses the same numbers.
  double uniform = 0;      // of the job's key
  double min_p_reach = 0;  // of the sampling, where there is a draw
};
struct DeviceMix {
  int row;
  float weight;
};
struct DeviceResult {
  int token;
  float logprob, drawn_logprob;
  int finite;
};
// Which stages the jobs of a launch need.
struct HeadKind {
  bool filtered = false;  // some job draws with min-p, top-k or top-p
  bool mixed = false;     // some job draws from a mixture
};
std::size_t head_workspace(int rows, int jobs, int vocab, HeadKind kind);
// `logits`: float32 [rows][stride]. If a job's result is not finite, neither are the results of the
// jobs that follow it.
void head_jobs(cudaStream_t stream, const float* logits, int rows, int stride, int vocab,
               const DeviceJob* jobs, int job_count, const DeviceMix* mixes, HeadKind kind,
               DeviceResult* results, void* workspace);

}  // namespace counterbeam::cuda
