// The layout of keys and values: pages of [head][32 tokens][head_dim]. For head widths 64, 128 and
// 256 the 16-byte pieces of a token are swizzled in memory (piece p of token t is at p ^ (t % 8)),
// so that a bulk copy of a page's head can be read from shared memory without bank conflicts. Codes
// are in order, behind the scales of their tokens (cache_codes.h says what they stand for).
// Memory beyond the tokens of a sequence may hold NaN.
#pragma once

#include <cuda_fp8.h>

#include "backend/cuda/barrier.cuh"
#include "backend/cuda/kernels.h"

namespace counterbeam::cuda {

__host__ __device__ constexpr bool permuted(int head_dim) {
  return head_dim == 64 || head_dim == 128 || head_dim == 256;
}

// The offset of a column of a token, in elements from the beginning of its page's head.
__device__ __forceinline__ int page_index(int token, int column, int head_dim) {
  if (!permuted(head_dim)) return token * head_dim + column;
  return token * head_dim + (((column >> 3) ^ (token & 7)) << 3) + (column & 7);
}

// The offset in bytes of a piece of a row of a tile in shared memory whose rows have D columns.
template <int D>
__device__ __forceinline__ int tile_offset(int row, int piece) {
  return row * D * 2 + ((piece ^ (row & 7)) << 4);
}

// The address of row `row` of a tile at `tile`, as lanes give it to matrix loads: of piece 0, or of
// piece 1 with `odd`. A further even piece is at piece_at(). REQUIRES `tile` at a multiple of 128.
template <int D>
__device__ __forceinline__ std::uint32_t row_at(std::uint32_t tile, int row, int odd) {
  return tile + std::uint32_t(row * D * 2 + ((odd ^ (row & 7)) << 4));
}
__device__ __forceinline__ std::uint32_t piece_at(std::uint32_t row, int even) {
  return (row ^ std::uint32_t((even & 6) << 4)) + std::uint32_t((even >> 3) * 128);
}

// A block of codes.
struct KvCodeBlock {
  const float* scales;        // [kPageTokens]
  const std::uint8_t* codes;  // [kPageTokens][head_dim]
  __device__ explicit KvCodeBlock(const Bf16* block)
      : scales(reinterpret_cast<const float*>(block)),
        codes(reinterpret_cast<const std::uint8_t*>(scales + kPageTokens)) {}
};

// What two adjacent FP8 codes stand for, before the scale.
__device__ __forceinline__ float2 fp8_values(std::uint32_t codes) {
  const __half2_raw both =
      __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(codes), __NV_E4M3);
  return __half22float2(__half2(both));
}
// The same of any code.
__device__ __forceinline__ float code_value(CacheType type, std::uint8_t code) {
  return type == CacheType::Int8 ? float(static_cast<signed char>(code)) : fp8_values(code).x;
}

}  // namespace counterbeam::cuda
