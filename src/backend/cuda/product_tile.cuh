// How a product is cut: tiles of 256 outputs by N rows, each a walk over blocks of 64 inputs. The
// units of a weight, tile after tile and block after block, lie in a row of which every worker
// takes `per_worker`; where those ends fall is where sums are cut.
#pragma once

#include "backend/cuda/barrier.cuh"
#include "backend/cuda/products.h"

namespace counterbeam::cuda {

constexpr int kTileBlocks = 4;  // 256 outputs: 2 warpgroups, 2 blocks each
constexpr int kConsumers = 256, kThreads = kConsumers + 128;
constexpr int kBlockBytes = kBlock * kBlock * 2;
constexpr int kWeightBytes = kTileBlocks * kBlockBytes;  // of a stage
constexpr int kFinishRows = 32;                          // that pass through shared memory at once
constexpr int kFinishStride = 128 + 8;                   // of a warpgroup's outputs
constexpr int kMostRows = 192;                           // of a tile
constexpr int kStreamTiles = 2;  // up to so many tiles of rows share the weights as they stream by
constexpr int kTileRows = 128;   // of a tile of more rows than that

// How the work on a weight is cut: `units` tiles-by-blocks in a row, `per_worker` of them together.
struct ProductCut {
  int tiles;  // of outputs
  int steps;  // blocks of inputs
  int per_worker;
  int workers;
};

struct ProductParameters {
  const Bf16* weights;
  int weight_blocks;  // of outputs
  int second_part;    // SiluMul: first block of the second half of the outputs; else 0
  ProductCut cut;
  int rows, outs;  // that are written
  void* out;
  int out_stride;
  const float* bias;
  float* partial_sums;
  unsigned* counts;
  int row_tiles;
};

// What a tile of N rows takes of shared memory.
template <int N>
struct ProductLayout {
  static constexpr int kStages = N == 16 ? 6 : N <= 64 ? 5 : N <= 128 ? 4 : 3;
  static constexpr int kRowBytes = N * kBlock * 2;
  static constexpr int kStageBytes = kWeightBytes + kRowBytes;
  static constexpr int kBytes =
      1024 + kStages * kStageBytes + 2 * kFinishRows * kFinishStride * 2 + 2 * kStages * 8;
};

// The block of weights that the i-th quarter of a tile multiplies; -1 beyond the last.
__device__ __forceinline__ int source_block(const ProductParameters& p, int tile, int i) {
  if (p.second_part > 0) {
    const int block = 2 * tile + i / 2;
    return block < p.second_part ? block + (i % 2) * p.second_part : -1;
  }
  const int block = kTileBlocks * tile + i;
  return block < p.weight_blocks ? block : -1;
}

__device__ __forceinline__ void sync_consumers() {
  asm volatile("bar.sync 1, 256;" ::: "memory");
}
__device__ __forceinline__ void sync_warpgroup(int group) {
  if (group == 0) {
    asm volatile("bar.sync 2, 128;" ::: "memory");
  } else {
    asm volatile("bar.sync 3, 128;" ::: "memory");
  }
}

// Part of a tile: steps [first, last) of its inputs.
struct Portion {
  int tile, first, last;
};

// The portions of a worker, one after the other.
__device__ __forceinline__ bool next_portion(const ProductCut& cut, int worker, int& unit,
                                             Portion& portion) {
  const int end = min((worker + 1) * cut.per_worker, cut.tiles * cut.steps);
  if (unit >= end) return false;
  portion.tile = unit / cut.steps;
  portion.first = unit - portion.tile * cut.steps;
  portion.last = min(cut.steps, portion.first + end - unit);
  unit += portion.last - portion.first;
  return true;
}

}  // namespace counterbeam::cuda
