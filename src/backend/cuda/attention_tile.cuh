// The arithmetic of attention, in one place because its bits must not depend on who does it: keys
// are taken in tiles of 64 at fixed positions; each tile gives every query row its largest score, a
// sum and a weighted sum of values, started anew; a row's tiles are merged in ascending order. A
// tile that a row does not see leaves the row as it was, so it does not matter who walks which
// tiles. A warp holds m-tiles of 16 query rows: lane l has rows l / 4 and l / 4 + 8.
#pragma once

#include "backend/cuda/attention_kinds.h"
#include "backend/cuda/kv_pages.cuh"

namespace counterbeam::cuda {

constexpr int kTilePages = kTileKeys / kPageTokens;

__device__ __forceinline__ void load_matrices(std::uint32_t (&to)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void load_transposed(std::uint32_t (&to)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
// d[16, 8] += a[16, 16] b[16, 8]
__device__ __forceinline__ void multiply_add(float (&d)[4], const std::uint32_t (&a)[4],
                                             std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ std::uint32_t pack(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&both);
}

// s = queries keys^T; query(k, a) gives the fragments of columns 16 k to 16 k + 15.
template <int D, int M, typename Query>
__device__ __forceinline__ void score(float (&s)[M][8][4], std::uint32_t keys, const Query& query) {
#pragma unroll
  for (int i = 0; i < M * 8 * 4; ++i) s[i / 32][i / 4 % 8][i % 4] = 0;
  const int lane = threadIdx.x & 31;
  const int key = (lane & 7) + ((lane >> 4) << 3), piece = (lane >> 3) & 1;
#pragma unroll
  for (int k = 0; k < D / 16; ++k) {
    std::uint32_t a[M][4];
    query(k, a);
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      std::uint32_t b[4];
      load_matrices(b, keys + tile_offset<D>(pair * 16 + key, 2 * k + piece));
#pragma unroll
      for (int m = 0; m < M; ++m) {
        multiply_add(s[m][2 * pair], a[m], b[0], b[1]);
        multiply_add(s[m][2 * pair + 1], a[m], b[2], b[3]);
      }
    }
  }
}

__device__ __forceinline__ bool sees(int key, int position, int window) {
  return key <= position && (window <= 0 || key > position - window);
}

// Hides the scores of keys that rows do not see. `first_key` is the position of the tile's first.
template <int M>
__device__ __forceinline__ void mask(float (&s)[M][8][4], const int (&position)[M][2],
                                     int first_key, int window) {
  const int column = first_key + (threadIdx.x & 3) * 2;
#pragma unroll
  for (int i = 0; i < M * 8 * 4; ++i) {
    const int m = i / 32, n = i / 4 % 8, e = i % 4;
    if (!sees(column + n * 8 + (e & 1), position[m][e >> 1], window)) s[m][n][e] = -INFINITY;
  }
}

__device__ __forceinline__ float largest_of_row(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}
__device__ __forceinline__ float sum_of_row(float x) {
  x = __fadd_rn(x, __shfl_xor_sync(~0u, x, 1));
  return __fadd_rn(x, __shfl_xor_sync(~0u, x, 2));
}

// Scores into weights 2^(s scale - top) as fragments p of the product with the values.
template <int M>
__device__ __forceinline__ void weigh(std::uint32_t (&p)[M][4][4], RowSum (&rows)[M][2],
                                      float (&s)[M][8][4], float scale) {
#pragma unroll
  for (int m = 0; m < M; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = -INFINITY;
#pragma unroll
      for (int n = 0; n < 8; ++n) top = fmaxf(top, fmaxf(s[m][n][2 * half], s[m][n][2 * half + 1]));
      top = __fmul_rn(largest_of_row(top), scale);
      const float base = top == -INFINITY ? 0.0f : top;
      float sum = 0;
#pragma unroll
      for (int n = 0; n < 8; ++n) {
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; ++e) {
          s[m][n][e] = power_of_two(__fmaf_rn(s[m][n][e], scale, -base));
          sum = __fadd_rn(sum, s[m][n][e]);
        }
        p[m][n / 2][2 * (n & 1) + half] = pack(s[m][n][2 * half], s[m][n][2 * half + 1]);
      }
      rows[m][half] = {top, sum_of_row(sum)};
    }
  }
}

// o = weights values[64, 8 N columns from piece `first` on]
template <int D, int M, int N>
__device__ __forceinline__ void weighted_values(float (&o)[M][N][4],
                                                const std::uint32_t (&p)[M][4][4],
                                                std::uint32_t values, int first) {
#pragma unroll
  for (int i = 0; i < M * N * 4; ++i) o[i / (4 * N)][i / 4 % N][i % 4] = 0;
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
#pragma unroll
    for (int n = 0; n < N; n += 2) {
      std::uint32_t b[4];
      load_transposed(b, values + tile_offset<D>(k * 16 + (lane & 15), first + n + (lane >> 4)));
#pragma unroll
      for (int m = 0; m < M; ++m) {
        multiply_add(o[m][n], p[m][k], b[0], b[1]);
        multiply_add(o[m][n + 1], p[m][k], b[2], b[3]);
      }
    }
  }
}

__device__ __forceinline__ RowSum no_tiles() {
  return {-INFINITY, 0.0f};
}

struct MergeFactors {
  float kept, added;
};

// Merges the next tile into a row; values follow with the factors given back.
__device__ __forceinline__ MergeFactors merge(RowSum& row, const RowSum& tile) {
  const float top = fmaxf(row.top, tile.top);
  const float base = top == -INFINITY ? 0.0f : top;
  const MergeFactors factors{power_of_two(__fadd_rn(row.top, -base)),
                             power_of_two(__fadd_rn(tile.top, -base))};
  row = {top, __fmaf_rn(row.sum, factors.kept, __fmul_rn(tile.sum, factors.added))};
  return factors;
}
__device__ __forceinline__ float merge(float row, float tile, const MergeFactors& factors) {
  return __fmaf_rn(row, factors.kept, __fmul_rn(tile, factors.added));
}

// Adding zero makes -0 and 0 the same: which of them arises depends on unseen tiles.
__device__ __forceinline__ float finished(float value, float inverse_sum) {
  return __fadd_rn(__fmul_rn(value, inverse_sum), 0.0f);
}

}  // namespace counterbeam::cuda
