// The epilogue of a GEMM tile: bias, gate, residual, and stores to memory.
#pragma once

#include "backend/cuda/gelu.cuh"
#include "backend/cuda/product_tile.cuh"

namespace counterbeam::cuda {

__device__ __forceinline__ float silu(float x) {
  return x / (1.0f + __expf(-x));
}
template <Finish kFinish>
__device__ __forceinline__ float gated(float x) {
  if constexpr (kFinish == Finish::GeluMul) {
    return gelu_tanh(x);
  } else {
    return silu(x);
  }
}
__device__ __forceinline__ std::uint32_t pair(float low, float high) {
  __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<std::uint32_t*>(&both);
}

// Stores two 8 by 8 matrices of a warp to shared memory, transposed.
__device__ __forceinline__ void store_turned(std::uint32_t address, std::uint32_t a,
                                             std::uint32_t b) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address),
               "r"(a), "r"(b)
               : "memory");
}

struct alignas(16) Eight {
  Bf16 value[8];
};

// Stores directly from registers: eight adjacent outputs of a row.
template <int N, int B>
__device__ __forceinline__ void store_floats(const ProductParameters& p,
                                             const float (&sum)[B][N / 2], int tile,
                                             int first_row) {
  const int group = threadIdx.x / 128, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  float* out = static_cast<float*>(p.out) + std::size_t(first_row) * p.out_stride;
  const int left = p.rows - first_row, first = 2 * (lane % 4);
#pragma unroll
  for (int b = 0; b < B; ++b) {
    const int column = ((2 * tile + group) * B + b) * kBlock + 16 * warp + lane / 4;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int at = column + 8 * h;
      float* to = out + first * p.out_stride + at;
#pragma unroll
      for (int i = 0; i < N / 4; ++i) {  // pairs of columns of the tile: rows here
        const int row = i / 2 * 8 + i % 2;
        if (first + row < left && at < p.outs)
          to[row * p.out_stride] = sum[b][i / 2 * 4 + 2 * h + i % 2];
      }
    }
  }
}

template <int N, int B, Finish kFinish>
__device__ __forceinline__ void add_bias(const ProductParameters& p, float (&sum)[B][N / 2],
                                         int tile) {
  const int group = threadIdx.x / 128, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int b = 0; b < B; ++b) {
    const int block = (2 * tile + group) * B + b;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int in_block = 16 * warp + 8 * h + lane / 4;
      const int at = (kIsGated<kFinish> ? block / 2 : block) * kBlock + in_block;
      const int offset = kIsGated<kFinish> ? block % 2 * p.outs : 0;
      const float bias = at < p.outs ? p.bias[at + offset] : 0.0f;
#pragma unroll
      for (int i = 0; i < N / 2; ++i) {
        if (i / 2 % 2 == h) sum[b][i] += bias;
      }
    }
  }
}

// Finishes eight outputs of a row from shared memory and stores them.
template <Finish kFinish>
__device__ __forceinline__ void store_eight(const Bf16* from, Bf16* to, int count, bool aligned) {
  Eight eight = *reinterpret_cast<const Eight*>(from);
  if constexpr (kIsGated<kFinish>) {
    const Eight up = *reinterpret_cast<const Eight*>(from + kBlock);
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const Bf16 gate = __float2bfloat16(gated<kFinish>(__bfloat162float(eight.value[e])));
      eight.value[e] = __float2bfloat16(__bfloat162float(gate) * __bfloat162float(up.value[e]));
    }
  }
  const bool whole = aligned && count >= 8;
  if constexpr (kFinish == Finish::Add) {
    Eight before;
    if (whole) {
      before = *reinterpret_cast<const Eight*>(to);
    } else {
      for (int e = 0; e < 8; ++e) before.value[e] = e < count ? to[e] : eight.value[e];
    }
#pragma unroll
    for (int e = 0; e < 8; ++e)
      eight.value[e] =
          __float2bfloat16(__bfloat162float(before.value[e]) + __bfloat162float(eight.value[e]));
  }
  if (whole) {
    *reinterpret_cast<Eight*>(to) = eight;
  } else {
    for (int e = 0; e < 8 && e < count; ++e) to[e] = eight.value[e];
  }
}

// Writes the sums of N rows of a tile. They are transposed through shared memory, a few rows of the
// batch at a time, so that stores to memory are coalesced.
template <int N, int B, Finish kFinish>
__device__ void finish_rows(const ProductParameters& p, float (&sum)[B][N / 2], int tile,
                            int first_row, Bf16* turned) {
  if constexpr (kFinish == Finish::StoreFloat) {
    store_floats<N, B>(p, sum, tile, first_row);
  } else {
    if (p.bias != nullptr) add_bias<N, B, kFinish>(p, sum, tile);
    constexpr int kStride = ProductTile<N, B>::kFinishStride;
    constexpr int kChunk = ProductTile<N, B>::kFinishRows;
    constexpr int kOuts = (kIsGated<kFinish> ? B : 2 * B) * kBlock;
    const int group = threadIdx.x / 128, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
    Bf16* out = static_cast<Bf16*>(p.out);
    const bool aligned = p.out_stride % 8 == 0 && reinterpret_cast<std::uintptr_t>(out) % 16 == 0;
#pragma unroll
    for (int chunk = 0; chunk < N; chunk += kChunk) {
      sync_consumers();
#pragma unroll
      for (int b = 0; b < B; ++b) {
#pragma unroll
        for (int j = 0; j < kChunk / 8; ++j) {
          const float* four = sum[b] + (chunk / 8 + j) * 4;
          const int column = (group * B + b) * kBlock + 16 * warp + (lane / 8 % 2) * 8;
          store_turned(shared_address(turned + (8 * j + lane % 8) * kStride + column),
                       pair(four[0], four[1]), pair(four[2], four[3]));
        }
      }
      sync_consumers();
      constexpr int kPieces = kOuts / 8;  // in a row
      for (int i = threadIdx.x; i < kChunk * kPieces; i += kConsumers) {
        const int in_tile = i % kPieces * 8, at = tile * kOuts + in_tile;
        const int row = first_row + chunk + i / kPieces;
        if (row >= p.rows || at >= p.outs) continue;
        const int place = kIsGated<kFinish> ? in_tile + in_tile / kBlock * kBlock : in_tile;
        store_eight<kFinish>(turned + i / kPieces * kStride + place,
                             out + std::size_t(row) * p.out_stride + at, p.outs - at, aligned);
      }
    }
  }
}

}  // namespace counterbeam::cuda
