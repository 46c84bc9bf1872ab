// How a GEMM is divided. A tile is 2 B blocks of outputs by N rows, multiplied by two warpgroups
// with B blocks each: narrow tiles (B = 1) while memory bandwidth is the bound, wide ones (B = 2)
// when arithmetic is. The sum over the inputs is split into `parts` that depend on the weight
// alone; a part is one chain of additions, whichever thread block computes it.
#pragma once

#include "backend/cuda/barrier.cuh"
#include "backend/cuda/products.h"

namespace counterbeam::cuda {

constexpr int kConsumers = 256;
constexpr int kBlockBytes = kBlock * kBlock * 2;
constexpr int kSharedMemory = 226 * 1024;  // of a thread block, from a multiple of 1,024 bytes on
constexpr int kRowGroup = 16;              // tiles of rows that pass over all weights together

// The division of work. split: a worker is a cluster and computes one tile, each of its thread
// blocks a part of it. Otherwise a worker is a thread block: it computes `waves` whole tiles, and
// the remaining tiles are divided into equal numbers of steps regardless of tile boundaries
// (stream-K), at most two workers per tile.
struct ProductWork {
  int tiles;      // of outputs
  int row_tiles;  // of rows
  int steps;      // blocks of inputs
  int parts, part_steps;
  bool split;
  int workers;
  int waves;
  int per_worker;  // steps of the remaining tiles
};

struct ProductParameters {
  const Bf16* weights;
  bool late_weights;  // written by the preceding kernel
  int weight_blocks;  // of outputs
  int second_part;    // gated: first block of the second half of the outputs; else 0
  ProductWork work;
  int rows, outs;  // that are written
  void* out;
  int out_stride;
  const float* bias;
  float4* sums;
  unsigned* flags;
};

template <int N, int B>
struct ProductTile {
  static constexpr int kRows = N, kWidth = B, kBlocks = 2 * B;
  static constexpr int kThreads = kConsumers + (B == 1 ? 64 : 128);
  static constexpr int kWeightBytes = kBlocks * kBlockBytes;  // of a stage
  static constexpr int kRowBytes = N * kBlock * 2;
  static constexpr int kStageBytes = kWeightBytes + kRowBytes;
  static constexpr int kFinishRows = N <= 48 ? N : 32;  // rows transposed in shared memory at once
  static constexpr int kFinishStride = kBlocks * kBlock + 8;
  static constexpr int kFinishBytes = kFinishRows * kFinishStride * 2;
  // As many as fit: bytes in flight determine the bandwidth.
  static constexpr int kStages = (kSharedMemory - kFinishBytes) / (kStageBytes + 2 * 8);
  static constexpr int kSumBytes = N * kBlocks * kBlock * 4;
  static constexpr int kStageMemory =
      kStages * kStageBytes > kSumBytes ? kStages* kStageBytes : kSumBytes;
  static constexpr int kBytes = 1024 + kStageMemory + kFinishBytes + 2 * kStages * 8;
};

// The i-th block of weights of a tile; -1 beyond the last.
template <int B>
__device__ __forceinline__ int source_block(const ProductParameters& p, int tile, int i) {
  if (p.second_part > 0) {
    const int block = B * tile + i / 2;
    return block < p.second_part ? block + (i % 2) * p.second_part : -1;
  }
  const int block = 2 * B * tile + i;
  return block < p.weight_blocks ? block : -1;
}

__device__ __forceinline__ void sync_consumers() {
  asm volatile("bar.sync 1, 256;" ::: "memory");
}

// Steps [first, last) of a tile.
struct Portion {
  int tile, row_tile, first, last;
};

// The i-th portion of a worker; `part` is the thread block's part if the work is split.
__device__ __forceinline__ bool portion_of(const ProductWork& work, int worker, int part, int i,
                                           Portion& portion) {
  const int all = work.tiles * work.row_tiles;
  int at;
  if (work.split) {
    if (i > 0) return false;
    at = worker;
    portion.first = part * work.part_steps;
    portion.last = min(portion.first + work.part_steps, work.steps);
  } else if (i < work.waves) {
    at = worker + i * work.workers;
    portion.first = 0;
    portion.last = work.steps;
  } else {
    // From the last tile to the first: the sums that another worker continues from are ready when
    // it reaches them, so workers do not wait for each other.
    const int before = work.waves * work.workers, begin = worker * work.per_worker;
    const int end = min(begin + work.per_worker, (all - before) * work.steps);
    const int tile = (end - 1) / work.steps - (i - work.waves);
    if (end <= begin || tile < begin / work.steps) return false;
    at = before + tile;
    portion.first = max(begin - tile * work.steps, 0);
    portion.last = min(end - tile * work.steps, work.steps);
  }
  if (at >= all) return false;
  const int in_group = kRowGroup * work.tiles, group = at / in_group;
  const int rows_here = min(kRowGroup, work.row_tiles - group * kRowGroup);
  portion.tile = (at - group * in_group) / rows_here;
  portion.row_tile = group * kRowGroup + (at - group * in_group) % rows_here;
  return true;
}

}  // namespace counterbeam::cuda
