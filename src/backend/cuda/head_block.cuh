// Reductions and scans over a thread block of kWarps warps, in one fixed order. Every thread of the
// block must call them; the scratch in shared memory may be reused when a call returns.
#pragma once

#include "backend/cuda/head_parts.cuh"

namespace counterbeam::cuda {

template <typename T>
struct Scanned {
  T before;  // the sum of the threads before this one
  T total;
};

template <int kWarps>
class Block {
 public:
  static constexpr int kThreads = kWarps * 32;

  template <typename T, typename Combine>
  __device__ __forceinline__ T all(T x, const Combine& combine) {
    T* scratch = reinterpret_cast<T*>(words_);
    x = warp_all(x, combine);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = x;
    __syncthreads();
    x = scratch[0];
#pragma unroll
    for (int warp = 1; warp < kWarps; ++warp) x = combine(x, scratch[warp]);
    __syncthreads();
    return x;
  }

  template <typename T>
  __device__ __forceinline__ T largest(T x) {
    return all(x, [](T a, T b) { return a < b ? b : a; });
  }
  template <typename T>
  __device__ __forceinline__ T least(T x) {
    return all(x, [](T a, T b) { return b < a ? b : a; });
  }
  template <typename T>
  __device__ __forceinline__ T sum(T x) {
    return all(x, [](T a, T b) { return a + b; });
  }

  template <typename T>
  __device__ __forceinline__ Scanned<T> scan(T x) {
    T* scratch = reinterpret_cast<T*>(words_);
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
    for (int other = 0; other < kWarps; ++other) {
      if (other == warp) before = total;
      total += scratch[other];
    }
    __syncthreads();
    const T below = __shfl_up_sync(kAllLanes, sum, 1);
    return {lane > 0 ? before + below : before, total};
  }

 private:
  std::uint64_t words_[kWarps];
};

}  // namespace counterbeam::cuda
