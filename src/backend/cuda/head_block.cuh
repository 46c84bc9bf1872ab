// Reductions and scans over a thread block of kBlockThreads threads, in one fixed order. Every
// thread of the block takes part; `scratch` is shared memory, free again when the call returns.
#pragma once

#include "backend/cuda/head_parts.cuh"

namespace counterbeam::cuda {

constexpr int kBlockWarps = 8;
constexpr int kBlockThreads = kBlockWarps * 32;

struct BlockScratch {
  double doubles[kBlockWarps];
  std::uint64_t words[kBlockWarps];
};

template <typename T, typename Combine>
__device__ __forceinline__ T block_all(T x, T* scratch, const Combine& combine) {
  x = warp_all(x, combine);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = x;
  __syncthreads();
  x = scratch[0];
#pragma unroll
  for (int warp = 1; warp < kBlockWarps; ++warp) x = combine(x, scratch[warp]);
  __syncthreads();
  return x;
}

__device__ __forceinline__ float block_max(float x, BlockScratch& scratch) {
  return block_all(x, reinterpret_cast<float*>(scratch.doubles),
                   [](float a, float b) { return fmaxf(a, b); });
}

__device__ __forceinline__ int block_max(int x, BlockScratch& scratch) {
  return block_all(x, reinterpret_cast<int*>(scratch.words),
                   [](int a, int b) { return max(a, b); });
}

__device__ __forceinline__ int block_min(int x, BlockScratch& scratch) {
  return -block_max(-x, scratch);
}

template <typename T>
struct Scanned {
  T before;  // the sum of the threads before this one
  T total;
};

template <typename T>
__device__ __forceinline__ Scanned<T> block_scan(T x, T* scratch) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  T sum = x;
#pragma unroll
  for (int back = 1; back < 32; back *= 2) {
    const T other = __shfl_up_sync(kAllLanes, sum, back);
    if (lane >= back) sum = sum + other;
  }
  if (lane == 31) scratch[warp] = sum;
  __syncthreads();
  T before = 0, total = 0;
#pragma unroll
  for (int other = 0; other < kBlockWarps; ++other) {
    if (other == warp) before = total;
    total += scratch[other];
  }
  __syncthreads();
  const T below = __shfl_up_sync(kAllLanes, sum, 1);
  return {lane > 0 ? before + below : before, total};
}

}  // namespace counterbeam::cuda
