// Partial sums of a tile: set aside between two parts, handed from one worker to the next, or
// reduced through the shared memory of a cluster. Parts are always added in the order of the
// inputs.
#pragma once

#include <cooperative_groups.h>

#include "backend/cuda/product_finish.cuh"

namespace counterbeam::cuda {

// Layout: four sums of a thread are adjacent, then those of the next thread.
template <int N, int B>
__device__ __forceinline__ float4* slot_of(const ProductParameters& p, int thread_block) {
  return p.sums + std::size_t(thread_block) * (B * N / 8 * kConsumers) + threadIdx.x;
}

template <int N, int B>
__device__ __forceinline__ void clear(float (&sum)[B][N / 2]) {
#pragma unroll
  for (int i = 0; i < B * N / 2; ++i) sum[i / (N / 2)][i % (N / 2)] = 0.0f;
}
template <int N, int B>
__device__ __forceinline__ void set_aside(float4* to, const float (&sum)[B][N / 2]) {
#pragma unroll
  for (int i = 0; i < B * N / 8; ++i) {
    const float* four = sum[i / (N / 8)] + i % (N / 8) * 4;
    to[i * kConsumers] = make_float4(four[0], four[1], four[2], four[3]);
  }
}
template <int N, int B>
__device__ __forceinline__ void take(float (&sum)[B][N / 2], const float4* from) {
#pragma unroll
  for (int i = 0; i < B * N / 8; ++i) {
    const float4 more = __ldcg(from + i * kConsumers);
    float* four = sum[i / (N / 8)] + i % (N / 8) * 4;
    four[0] = more.x, four[1] = more.y, four[2] = more.z, four[3] = more.w;
  }
}
// sum = what was set aside + sum
template <int N, int B>
__device__ __forceinline__ void add(float (&sum)[B][N / 2], const float4* from) {
#pragma unroll
  for (int i = 0; i < B * N / 8; ++i) {
    const float4 more = __ldcg(from + i * kConsumers);
    float* four = sum[i / (N / 8)] + i % (N / 8) * 4;
    four[0] += more.x, four[1] += more.y, four[2] += more.z, four[3] += more.w;
  }
}

// Passes the sums of a tile's first steps to the worker that continues the tile.
template <int N, int B>
__device__ void hand_over(const ProductParameters& p, const float (&sum)[B][N / 2]) {
  set_aside<N, B>(slot_of<N, B>(p, blockIdx.x), sum);
  __threadfence();
  sync_consumers();
  if (threadIdx.x == 0)
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p.flags + blockIdx.x), "r"(1)
                 : "memory");
}
template <int N, int B>
__device__ void take_over(const ProductParameters& p, float (&sum)[B][N / 2]) {
  const int giver = int(blockIdx.x) - 1;
  if (threadIdx.x == 0) {
    unsigned ready = 0;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                   : "=r"(ready)
                   : "l"(p.flags + giver)
                   : "memory");
    } while (ready == 0);
    p.flags[giver] = 0;
  }
  sync_consumers();
  take<N, B>(sum, slot_of<N, B>(p, giver));
}

// Reduces a tile whose parts are in the thread blocks of a cluster: each block leaves its sums in
// its shared memory, then adds up and writes some of the rows.
template <int N, int B, Finish kFinish>
__device__ void put_together(const ProductParameters& p, const float (&sum)[B][N / 2], int tile,
                             int first_row, float4* memory, Bf16* turned) {
  constexpr int kRows = N >= 32 ? 16 : 8;
  const auto cluster = cooperative_groups::this_cluster();
  sync_consumers();  // `memory` reuses stages, which must have been multiplied
  set_aside<N, B>(memory + threadIdx.x, sum);
  cluster.sync();
  const int groups = min(N, p.rows - first_row + kRows - 1) / kRows;
  int i = int(cluster.block_rank());
  if (i >= groups) cluster.barrier_arrive();
  for (; i < groups; i += p.work.parts) {
    float total[B][kRows / 2];
#pragma unroll 4
    for (int other = 0; other < p.work.parts; ++other) {
      const float4* from = cluster.map_shared_rank(memory, unsigned(other));
#pragma unroll
      for (int j = 0; j < B * kRows / 8; ++j) {
        const int at = j / (kRows / 8) * (N / 8) + i * (kRows / 8) + j % (kRows / 8);
        const float4 more = from[at * kConsumers + int(threadIdx.x)];
        float* four = total[j / (kRows / 8)] + j % (kRows / 8) * 4;
        four[0] = other == 0 ? more.x : four[0] + more.x;
        four[1] = other == 0 ? more.y : four[1] + more.y;
        four[2] = other == 0 ? more.z : four[2] + more.z;
        four[3] = other == 0 ? more.w : four[3] + more.w;
      }
    }
    if (i + p.work.parts >= groups) cluster.barrier_arrive();
    finish_rows<kRows, B, kFinish>(p, total, tile, first_row + i * kRows, turned);
  }
  cluster.barrier_wait();  // until no other block reads this block's shared memory
}

}  // namespace counterbeam::cuda
