// What becomes of the sums of a tile: bias, gate, residual, and the way to memory.
#pragma once

#include "backend/cuda/product_tile.cuh"

namespace counterbeam::cuda {

__device__ __forceinline__ float silu(float x) {
  return x / (1.0f + __expf(-x));
}
__device__ __forceinline__ float rounded(float x) {
  return __bfloat162float(__float2bfloat16(x));
}
__device__ __forceinline__ std::uint32_t pair(float low, float high) {
  __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<std::uint32_t*>(&both);
}

// Two 8 by 8 matrices of a warp into shared memory, each turned: rows there are columns here.
__device__ __forceinline__ void store_turned(std::uint32_t address, std::uint32_t a,
                                             std::uint32_t b) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address),
               "r"(a), "r"(b)
               : "memory");
}

// Writes the sums of N rows of a tile. A warpgroup turns kFinishRows rows of the batch at a time
// through shared memory, so that a row's outputs leave side by side.
template <int N, Finish kFinish>
__device__ void finish_rows(const ProductParameters& p, float (&sum)[2][N / 2], int tile,
                            int first_row, Bf16* turned) {
  const int group = threadIdx.x / 128, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  if constexpr (kFinish == Finish::StoreFloat) {
    float* out = static_cast<float*>(p.out) + std::size_t(first_row) * p.out_stride;
    const int left = p.rows - first_row, first = 2 * (lane % 4);
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      const int column = (kTileBlocks * tile + 2 * group + b) * kBlock + 16 * warp + lane / 4;
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
    return;
  } else {
    constexpr int kBlocks = kFinish == Finish::SiluMul ? 1 : 2;  // of outputs a warpgroup writes
    const int first_out = (2 * tile + group) * kBlocks * kBlock;
    if (p.bias != nullptr) {
#pragma unroll
      for (int b = 0; b < 2; ++b) {
        const int offset = kFinish == Finish::SiluMul ? b * p.outs : b * kBlock;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int at = first_out + 16 * warp + 8 * h + lane / 4;
          const bool real = at + (kFinish == Finish::SiluMul ? 0 : offset) < p.outs;
          const float bias = real ? p.bias[at + offset] : 0.0f;
#pragma unroll
          for (int i = 0; i < N / 2; ++i) {
            if (i / 2 % 2 == h) sum[b][i] += bias;
          }
        }
      }
    }
    if constexpr (kFinish == Finish::SiluMul) {
#pragma unroll
      for (int i = 0; i < N / 2; ++i)
        sum[0][i] = rounded(silu(rounded(sum[0][i]))) * rounded(sum[1][i]);
    }
    Bf16* mine = turned + group * kFinishRows * kFinishStride;
    constexpr int kChunk = N < kFinishRows        ? N
                           : N % kFinishRows == 0 ? kFinishRows
                                                  : kFinishRows / 2;
    Bf16* out = static_cast<Bf16*>(p.out);
    const bool aligned = p.out_stride % 8 == 0 && reinterpret_cast<std::uintptr_t>(out) % 16 == 0;
#pragma unroll
    for (int chunk = 0; chunk < N; chunk += kChunk) {
      sync_warpgroup(group);
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
        for (int j = 0; j < kChunk / 8; ++j) {
          const int at = (chunk / 8 + j) * 4;
          const int row = 8 * j + lane % 8, column = b * kBlock + 16 * warp + (lane / 8 % 2) * 8;
          store_turned(shared_address(mine + row * kFinishStride + column),
                       pair(sum[b][at], sum[b][at + 1]), pair(sum[b][at + 2], sum[b][at + 3]));
        }
      }
      sync_warpgroup(group);
      constexpr int kPieces = kBlocks * kBlock / 8;  // of 8 outputs, in a row
      for (int i = threadIdx.x % 128; i < kChunk * kPieces; i += 128) {
        const int row = first_row + chunk + i / kPieces, at = first_out + i % kPieces * 8;
        if (row >= p.rows || at >= p.outs) continue;
        alignas(16) Bf16 values[8];
        *reinterpret_cast<uint4*>(values) =
            *reinterpret_cast<const uint4*>(mine + i / kPieces * kFinishStride + i % kPieces * 8);
        Bf16* to = out + std::size_t(row) * p.out_stride + at;
        const bool whole = aligned && at + 8 <= p.outs;
        if constexpr (kFinish == Finish::Add) {
          alignas(16) Bf16 before[8];
          if (whole) {
            *reinterpret_cast<uint4*>(before) = *reinterpret_cast<const uint4*>(to);
          } else {
            for (int e = 0; e < 8; ++e) before[e] = at + e < p.outs ? to[e] : values[e];
          }
#pragma unroll
          for (int e = 0; e < 8; ++e)
            values[e] = __float2bfloat16(__bfloat162float(before[e]) + __bfloat162float(values[e]));
        }
        if (whole) {
          *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(values);
        } else {
          for (int e = 0; e < 8 && at + e < p.outs; ++e) to[e] = values[e];
        }
      }
    }
  }
}

}  // namespace counterbeam::cuda
