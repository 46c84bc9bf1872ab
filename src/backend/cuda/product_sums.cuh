// Sums of parts of a tile, on their way from one worker to another or past a cut. Parts are always
// added in the order of the inputs.
#pragma once

#include "backend/cuda/product_finish.cuh"

namespace counterbeam::cuda {

// A thread's sums in memory, its own ones kConsumers apart.
template <int N>
__device__ __forceinline__ void set_aside(float* to, const float (&sum)[2][N / 2]) {
#pragma unroll
  for (int i = 0; i < N; ++i) __stcg(to + i * kConsumers, sum[i / (N / 2)][i % (N / 2)]);
}
template <int N>
__device__ __forceinline__ void add(float (&sum)[2][N / 2], const float* from) {
#pragma unroll
  for (int i = 0; i < N; ++i) sum[i / (N / 2)][i % (N / 2)] += __ldcg(from + i * kConsumers);
}

// The sums of a worker's part of a tile: those of the tile's beginning and those of a later part.
template <int N>
__device__ __forceinline__ float* slot_of(const ProductParameters& p, int worker, int row_tile,
                                          bool beginning) {
  const int slot = (worker * p.row_tiles + row_tile) * 2 + beginning;
  return p.partial_sums + std::size_t(slot) * (N * kConsumers) + threadIdx.x;
}

// Counts the workers that have left their sums of a tile, then those that have taken theirs.
__device__ __forceinline__ unsigned* count_of(const ProductParameters& p, int tile, int row_tile) {
  return p.counts + tile * p.cut.steps / p.cut.per_worker * p.row_tiles + row_tile;
}

__device__ __forceinline__ void wait_for_sums(unsigned* count, int workers) {
  if (threadIdx.x == 0) {
    unsigned ready = 0;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(ready) : "l"(count) : "memory");
    } while (ready < unsigned(workers));
  }
  sync_consumers();
}

template <int N>
__device__ void leave_sums(const ProductParameters& p, const float (&sum)[2][N / 2],
                           const Portion& portion, int worker, int row_tile) {
  set_aside<N>(slot_of<N>(p, worker, row_tile, portion.first == 0), sum);
  __threadfence();
  sync_consumers();
  if (threadIdx.x == 0) atomicAdd(count_of(p, portion.tile, row_tile), 1u);
}

// Of few workers, the one with a tile's beginning, which comes last in its turn, keeps its sums and
// adds what the others left of the tile before.
template <int N>
__device__ void take_sums(const ProductParameters& p, float (&sum)[2][N / 2], int tile, int worker,
                          int row_tile) {
  const int last = ((tile + 1) * p.cut.steps - 1) / p.cut.per_worker;
  wait_for_sums(count_of(p, tile, row_tile), last - worker);
  for (int other = worker + 1; other <= last; ++other)
    add<N>(sum, slot_of<N>(p, other, row_tile, false));
  if (threadIdx.x == 0) *count_of(p, tile, row_tile) = 0;
}

// Puts a tile together that many workers have parts of: when all have left their sums, each adds
// up some groups of eight rows, in the order of the inputs, and writes them.
template <int N, Finish kFinish>
__device__ void put_together(const ProductParameters& p, int tile, int worker, int row_tile,
                             Bf16* turned) {
  const int first = tile * p.cut.steps / p.cut.per_worker;
  const int last = ((tile + 1) * p.cut.steps - 1) / p.cut.per_worker, workers = last - first + 1;
  unsigned* count = count_of(p, tile, row_tile);
  wait_for_sums(count, workers);
  for (int group = worker - first; group < N / 8; group += workers) {
    const int first_row = row_tile * N + 8 * group;
    if (first_row >= p.rows) break;
    float sum[2][4];
    const float* from = slot_of<N>(p, first, row_tile, true) + 4 * group * kConsumers;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      sum[i / 4][i % 4] = __ldcg(from + (i / 4 * (N / 2) + i % 4) * kConsumers);
#pragma unroll 4
    for (int other = first + 1; other <= last; ++other) {
      from = slot_of<N>(p, other, row_tile, false) + 4 * group * kConsumers;
#pragma unroll
      for (int i = 0; i < 8; ++i)
        sum[i / 4][i % 4] += __ldcg(from + (i / 4 * (N / 2) + i % 4) * kConsumers);
    }
    finish_rows<8, kFinish>(p, sum, tile, first_row, turned);
  }
  if (threadIdx.x == 0) {
    const unsigned taken = atomicAdd(count, 1u) + 1;
    if (taken == 2 * unsigned(workers)) *count = 0;
  }
}

// Where a thread sets sums aside: one block at a time lives on a processor.
template <int N>
__device__ __forceinline__ float* own_memory(const ProductParameters& p) {
  unsigned processor;
  asm("mov.u32 %0, %%smid;" : "=r"(processor));
  return p.partial_sums + std::size_t(processor) * (N * kConsumers) + threadIdx.x;
}

}  // namespace counterbeam::cuda
