// Eight columns of a row at a time, and the arithmetic of norms and gates on them. Fused kernels
// use the same functions as the plain ones, so that both give the same bits.
#pragma once

#include <cstdint>

#include "backend/cuda/kernels.h"

namespace counterbeam::cuda {

__device__ __forceinline__ Bf16* row_of(const Matrix& m, int row) {
  return static_cast<Bf16*>(m.data) + std::size_t(row) * m.stride;
}

__device__ __forceinline__ bool aligned(const void* a, const void* b) {
  return ((reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b)) & 15) == 0;
}

__device__ __forceinline__ float rounded(float x) {
  return __bfloat162float(__float2bfloat16(x));
}
__device__ __forceinline__ float sigmoid(float x) {
  return __fdividef(1.0f, 1.0f + __expf(-x));
}

struct Octet {
  float at[8];
};

// `whole`: all eight exist and are 16-byte aligned; otherwise `count` exist, the others become 0.
__device__ __forceinline__ Octet load_octet(const Bf16* from, int count, bool whole) {
  Octet octet;
  if (whole) {
    const uint4 bits = *reinterpret_cast<const uint4*>(from);
    const auto* values = reinterpret_cast<const Bf16*>(&bits);
#pragma unroll
    for (int i = 0; i < 8; ++i) octet.at[i] = __bfloat162float(values[i]);
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) octet.at[i] = i < count ? __bfloat162float(from[i]) : 0.0f;
  }
  return octet;
}
__device__ __forceinline__ void store_octet(Bf16* to, const Octet& octet, int count, bool whole) {
  if (whole) {
    alignas(16) Bf16 values[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) values[i] = __float2bfloat16(octet.at[i]);
    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(values);
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (i < count) to[i] = __float2bfloat16(octet.at[i]);
    }
  }
}

// sum + the squares of all eight, one after the other.
__device__ __forceinline__ float add_squares(float sum, const Octet& octet) {
#pragma unroll
  for (int i = 0; i < 8; ++i) sum = fmaf(octet.at[i], octet.at[i], sum);
  return sum;
}

// The sum over `kLanes` adjacent lanes of a warp, returned to all of them.
template <int kLanes>
__device__ __forceinline__ float sum_of_lanes(float x) {
#pragma unroll
  for (int other = kLanes / 2; other > 0; other /= 2) x += __shfl_xor_sync(~0u, x, other);
  return x;
}

// The factor of a norm, given the sum of the squares of `size` columns.
__device__ __forceinline__ float norm_scale(float squares, int size, float eps) {
  return rsqrtf(squares / float(size) + eps);
}

// A plain weight (offset 0) multiplies the rounded number, a zero-centred one (offset 1) the number
// before rounding, as transformers does.
__device__ __forceinline__ void normalise(Octet& octet, float scale, const Octet& weight,
                                          float offset) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float normed = octet.at[i] * scale;
    octet.at[i] = (offset == 0 ? rounded(normed) : normed) * (offset + weight.at[i]);
  }
}
__device__ __forceinline__ void multiply_by_silu(Octet& octet, const Octet& gate) {
#pragma unroll
  for (int i = 0; i < 8; ++i) octet.at[i] *= gate.at[i] * sigmoid(gate.at[i]);
}

}  // namespace counterbeam::cuda
