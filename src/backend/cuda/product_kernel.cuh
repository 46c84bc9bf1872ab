// The GEMM kernel: a producer thread copies weights and another one rows into a ring of stages in
// shared memory, two consumer warpgroups multiply them. Work is divided by product_tile.cuh. With
// programmatic dependent launch, the first weights arrive while the preceding kernel still runs.
#pragma once

#include "backend/cuda/launch.h"
#include "backend/cuda/product_sums.cuh"
#include "backend/cuda/wgmma.cuh"

namespace counterbeam::cuda {

// Iterates over the steps of a worker's portions.
struct ProductWalk {
  const ProductWork& work;
  int worker, part;
  Portion portion{};
  int index = 0, step = 0;
  bool more = portion_of(work, worker, part, 0, portion);

  __device__ explicit ProductWalk(const ProductWork& w, int of_worker, int of_part)
      : work(w), worker(of_worker), part(of_part) {
    step = portion.first;
  }
  __device__ void next() {
    if (++step < portion.last) return;
    more = portion_of(work, worker, part, ++index, portion);
    step = portion.first;
  }
};

// A thread block's shared memory and its share of the work.
template <int N, int B>
struct ProductBlock {
  using Tile = ProductTile<N, B>;
  std::uint8_t* stages;
  Bf16* turned;
  std::uint64_t *full, *empty;
  int worker, part;

  __device__ ProductBlock(const ProductWork& work, std::uint8_t* memory) {
    stages = reinterpret_cast<std::uint8_t*>((reinterpret_cast<std::uintptr_t>(memory) + 1023) /
                                             1024 * 1024);
    turned = reinterpret_cast<Bf16*>(stages + Tile::kStageMemory);
    full = reinterpret_cast<std::uint64_t*>(stages + Tile::kStageMemory + Tile::kFinishBytes);
    empty = full + Tile::kStages;
    worker = int(blockIdx.x) / (work.split ? work.parts : 1);
    part = work.split ? int(blockIdx.x) % work.parts : 0;
  }

  // The stage of a step; waits until its previous contents have been read.
  __device__ __forceinline__ int free_stage(int step) const {
    const int stage = step % Tile::kStages, round = step / Tile::kStages;
    if (round > 0) barrier_wait(empty + stage, (round - 1) % 2);
    return stage;
  }
};

// Does not wait for the preceding kernel if weights are constant.
template <int N, int B>
__device__ void copy_weights(const ProductParameters& p, const ProductBlock<N, B>& block) {
  using Tile = ProductTile<N, B>;
  const std::uint64_t policy = p.work.row_tiles == 1 ? kReadOnce : kKeep;
  ProductWalk walk(p.work, block.worker, block.part);
  if (p.late_weights) wait_for_predecessor();
  for (int step = 0; walk.more; ++step, walk.next()) {
    const int stage = block.free_stage(step);
    int bytes = 0;
    for (int i = 0; i < Tile::kBlocks; ++i)
      bytes += source_block<B>(p, walk.portion.tile, i) >= 0 ? kBlockBytes : 0;
    barrier_expect(block.full + stage, bytes);
    for (int i = 0; i < Tile::kBlocks; ++i) {
      const int source = source_block<B>(p, walk.portion.tile, i);
      if (source < 0) continue;
      copy_bytes(block.stages + stage * Tile::kStageBytes + i * kBlockBytes,
                 p.weights + (std::size_t(source) * p.work.steps + walk.step) * kBlockElements,
                 kBlockBytes, block.full + stage, policy);
    }
  }
  wait_for_predecessor();
  let_successor_start();  // not earlier: its weights would compete with these for bandwidth
}

// By another thread, so that rows need not wait until the weights of all stages are requested.
template <int N, int B>
__device__ void copy_rows(const ProductParameters& p, const CUtensorMap& x,
                          const ProductBlock<N, B>& block) {
  using Tile = ProductTile<N, B>;
  ProductWalk walk(p.work, block.worker, block.part);
  wait_for_predecessor();
  for (int step = 0; walk.more; ++step, walk.next()) {
    const int stage = block.free_stage(step);
    barrier_expect(block.full + stage, Tile::kRowBytes);
    copy_box(block.stages + stage * Tile::kStageBytes + Tile::kWeightBytes, &x, walk.step * kBlock,
             walk.portion.row_tile * N, block.full + stage, kKeep);
  }
}

// Multiplies and accumulates the next stages. `done`: stages consumed so far.
template <int N, int B>
__device__ __forceinline__ void multiply_steps(const ProductBlock<N, B>& block,
                                               float (&sum)[B][N / 2], int steps, int& done) {
  using Tile = ProductTile<N, B>;
  const int group = __shfl_sync(~0u, threadIdx.x / 128, 0);
  const auto leave = [&](int stage) {
    if (threadIdx.x % 128 == 0) barrier_arrive(block.empty + stage);
  };
  const auto begin_step = [&] {
    const int stage = done % Tile::kStages;
    barrier_wait(block.full + stage, done / Tile::kStages % 2);
    const std::uint32_t at = shared_address(block.stages + stage * Tile::kStageBytes);
    const std::uint64_t rows = tile_descriptor(at + Tile::kWeightBytes);
    const std::uint64_t outs = tile_descriptor(at + B * group * kBlockBytes);
    products_begin();
#pragma unroll
    for (int k = 0; k < kBlock / 16; ++k) {
#pragma unroll
      for (int b = 0; b < B; ++b) {
        multiply<N>(sum[b], outs + b * (kBlockBytes >> 4) + k * kDescriptorStep,
                    rows + k * kDescriptorStep);
      }
    }
    products_commit();
    ++done;
  };
  if constexpr (B == 1) {
    // Memory-bound: each step is waited for, so that its stage becomes free as early as possible.
    for (int step = 0; step < steps; ++step) {
      begin_step();
      products_wait<0>();
      leave((done - 1) % Tile::kStages);
    }
  } else {
    // Compute-bound: the products of the next step are issued while those of this one run.
    begin_step();
    for (int step = 1; step < steps; ++step) {
      begin_step();
      products_wait<1>();
      leave((done - 2) % Tile::kStages);
    }
    products_wait<0>();
    leave((done - 1) % Tile::kStages);
  }
}

template <int N, int B, Finish kFinish>
__global__ void __launch_bounds__((ProductTile<N, B>::kThreads), 1)
    product_kernel(const __grid_constant__ ProductParameters p,
                   const __grid_constant__ CUtensorMap x) {
  using Tile = ProductTile<N, B>;
  extern __shared__ std::uint8_t memory[];
  const ProductBlock<N, B> block(p.work, memory);
  if (threadIdx.x == 0) {
    for (int s = 0; s < Tile::kStages; ++s) {
      barrier_init(block.full + s, 2);
      barrier_init(block.empty + s, 2);
    }
    barriers_visible();
  }
  __syncthreads();
  if (threadIdx.x >= kConsumers) {
    if constexpr (B == 2) asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x == kConsumers) copy_weights<N, B>(p, block);
    if (threadIdx.x == kConsumers + 32) copy_rows<N, B>(p, x, block);
    return;
  }

  if constexpr (B == 2) asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  wait_for_predecessor();
  Portion portion;
  int done = 0;
  for (int i = 0; portion_of(p.work, block.worker, block.part, i, portion); ++i) {
    const int first_row = portion.row_tile * N;
    const bool goes_on = portion.first > 0 && !p.work.split;
    float4* aside = slot_of<N, B>(p, blockIdx.x);
    float sum[B][N / 2];
    if (goes_on) {
      take_over<N, B>(p, sum);
    } else {
      clear<N, B>(sum);
    }
    for (int step = portion.first; step < portion.last;) {
      const int end = min(step + p.work.part_steps, portion.last);
      multiply_steps<N, B>(block, sum, end - step, done);
      if (step > portion.first) add<N, B>(sum, aside);
      if (end < portion.last) {
        set_aside<N, B>(aside, sum);
        clear<N, B>(sum);
      }
      step = end;
    }
    if (p.work.split) {
      put_together<N, B, kFinish>(p, sum, portion.tile, first_row,
                                  reinterpret_cast<float4*>(block.stages), block.turned);
    } else if (portion.last < p.work.steps) {
      hand_over<N, B>(p, sum);
    } else {
      finish_rows<N, B, kFinish>(p, sum, portion.tile, first_row, block.turned);
    }
  }
}

}  // namespace counterbeam::cuda
