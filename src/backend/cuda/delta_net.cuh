// Shared by the two kernels of the gated delta rule: their arguments and a token's two gates.
#pragma once

#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"

namespace counterbeam::cuda {

// The gated_norm of the outputs, per head.
struct DeltaNorm {
  const float* weight;  // null: no norm
  const Bf16* gate;
  int gate_stride;
  float eps;
};

struct DeltaArguments {
  Bf16* out;
  const Bf16* qkv;  // [rows][q heads | k heads | v heads]
  const Bf16* beta;
  const Bf16* decay;
  int out_stride, qkv_stride, beta_stride, decay_stride;
  const float* a_log;
  const float* dt_bias;
  float* memory;  // of slot 0 in this layer
  std::size_t slot_floats;
  int key_heads, value_heads, key_dim, value_dim;
  const DeviceSegment* segments;
  DeltaNorm norm;
};

// REQUIRES key_dim and value_dim 128, rows of qkv 8-byte aligned and, with a norm, rows of its gate
// and of out 16-byte aligned. Returns whether it applied the norm.
bool delta_strips(cudaStream_t stream, const DeltaArguments& arguments, int segments, int longest);

#ifdef __CUDACC__

// g of e^g is -e^a_log softplus(a + dt_bias); `rate` is -e^a_log.
__device__ __forceinline__ float delta_decay(float a, float dt_bias, float rate) {
  const float x = a + dt_bias;
  return expf(rate * (x > 20.0f ? x : log1pf(expf(x))));
}

__device__ __forceinline__ float delta_beta(float b) {
  return 1.0f / (1.0f + expf(-b));
}

// N adjacent elements, loaded and stored at once.
template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T at[N];
};

template <int N, typename T>
__device__ __forceinline__ Pack<T, N> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}

template <int N, typename T>
__device__ __forceinline__ void store_pack(T* to, const Pack<T, N>& pack) {
  *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

#endif

}  // namespace counterbeam::cuda
