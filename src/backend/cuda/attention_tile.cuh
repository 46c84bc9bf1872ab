// The arithmetic of attention, shared by all kernels so that they give the same bits. Keys are
// taken in tiles of 64 at fixed positions. Each tile gives a query row its largest score, its sum
// of weights and its weighted sum of values, starting from zero; a row's tiles are merged in
// ascending order. A tile that a row does not see leaves the row unchanged, so kernels may visit
// it or not. A warp holds m-tiles of 16 query rows: lane l has rows l / 4 and l / 4 + 8.
#pragma once

#include "backend/cuda/attention_kinds.h"
#include "backend/cuda/kv_pages.cuh"
#include "backend/cuda/warp_products.cuh"

namespace counterbeam::cuda {

__device__ __forceinline__ std::uint32_t pack(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&both);
}

// s = queries keys^T for N x 8 keys of the tile from `first_key` on; query(k, a) gives the
// fragments of columns 16 k to 16 k + 15.
template <int D, int M, int N, typename Query>
__device__ __forceinline__ void score(float (&s)[M][N][4], std::uint32_t keys, int first_key,
                                      const Query& query) {
#pragma unroll
  for (int i = 0; i < M * N * 4; ++i) s[i / (4 * N)][i / 4 % N][i % 4] = 0;
  const int lane = threadIdx.x & 31;
  const std::uint32_t row =
      row_at<D>(keys, first_key + (lane & 7) + ((lane >> 4) << 3), (lane >> 3) & 1);
#pragma unroll
  for (int k = 0; k < D / 16; ++k) {
    std::uint32_t a[M][4];
    query(k, a);
#pragma unroll
    for (int n = 0; n < N; n += 2) {
      std::uint32_t b[4];
      load_matrices(b, piece_at(row, 2 * k) + n * 8 * D * 2);
#pragma unroll
      for (int m = 0; m < M; ++m) {
        multiply_add(s[m][n], a[m], b[0], b[1]);
        multiply_add(s[m][n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

__device__ __forceinline__ bool sees(int key, int position, int window) {
  return key <= position && (window <= 0 || key > position - window);
}

// Masks the scores of keys that rows do not see. `first_key` is the position of the first key.
template <int M, int N>
__device__ __forceinline__ void mask(float (&s)[M][N][4], const int (&position)[M][2],
                                     int first_key, int window) {
  const int column = first_key + (threadIdx.x & 3) * 2;
#pragma unroll
  for (int i = 0; i < M * N * 4; ++i) {
    const int m = i / (4 * N), n = i / 4 % N, e = i % 4;
    if (!sees(column + n * 8 + (e & 1), position[m][e >> 1], window)) s[m][n][e] = -INFINITY;
  }
}

__device__ __forceinline__ float largest_of_row(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

// The order in which the 64 weights of a tile are added: a lane's four of 16 keys, then four such
// sums, then four lanes.
__device__ __forceinline__ float sum_of_four(float a, float b, float c, float d) {
  return __fadd_rn(__fadd_rn(a, b), __fadd_rn(c, d));
}
__device__ __forceinline__ float sum_of_lanes(float x) {
  x = __fadd_rn(x, __shfl_xor_sync(~0u, x, 1));
  return __fadd_rn(x, __shfl_xor_sync(~0u, x, 2));
}

// The largest score of a row, scaled: the reference point of its weights.
__device__ __forceinline__ float scaled_top(float largest, float scale) {
  return __fmul_rn(largest, scale);
}

// Turns scores of 16 keys and 8 rows into weights 2^(s scale - top), in place; returns a lane's
// sum.
__device__ __forceinline__ float weigh_four(float& a, float& b, float& c, float& d, float top,
                                            float scale) {
  const float base = top == -INFINITY ? 0.0f : top;
  a = power_of_two(__fmaf_rn(a, scale, -base));
  b = power_of_two(__fmaf_rn(b, scale, -base));
  c = power_of_two(__fmaf_rn(c, scale, -base));
  d = power_of_two(__fmaf_rn(d, scale, -base));
  return sum_of_four(a, b, c, d);
}

// Turns scores into weights, as fragments p for the product with the values.
template <int M>
__device__ __forceinline__ void weigh(std::uint32_t (&p)[M][4][4], RowSum (&rows)[M][2],
                                      float (&s)[M][8][4], float scale) {
#pragma unroll
  for (int i = 0; i < M * 2; ++i) {
    const int m = i / 2, half = i % 2, e = 2 * half;
    float top = -INFINITY;
#pragma unroll
    for (int n = 0; n < 8; ++n) top = fmaxf(top, fmaxf(s[m][n][e], s[m][n][e + 1]));
    top = scaled_top(largest_of_row(top), scale);
    float sums[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      float(&low)[4] = s[m][2 * k], (&high)[4] = s[m][2 * k + 1];
      sums[k] = weigh_four(low[e], low[e + 1], high[e], high[e + 1], top, scale);
      p[m][k][half] = pack(low[e], low[e + 1]);
      p[m][k][2 + half] = pack(high[e], high[e + 1]);
    }
    rows[m][half] = {top, sum_of_lanes(sum_of_four(sums[0], sums[1], sums[2], sums[3]))};
  }
}

// o += weights p of the tile's keys 16 k to 16 k + 15 times 8 N columns of the values, from piece
// `first` on.
template <int D, int M, int N>
__device__ __forceinline__ void add_values(float (&o)[M][N][4], const std::uint32_t (&p)[M][4],
                                           int k, std::uint32_t values, int first) {
  const int lane = threadIdx.x & 31;
  const std::uint32_t row = row_at<D>(values, lane & 15, lane >> 4);
#pragma unroll
  for (int n = 0; n < N; n += 2) {
    std::uint32_t b[4];
    load_transposed(b, piece_at(row, first + n) + k * 16 * D * 2);
#pragma unroll
    for (int m = 0; m < M; ++m) {
      multiply_add(o[m][n], p[m], b[0], b[1]);
      multiply_add(o[m][n + 1], p[m], b[2], b[3]);
    }
  }
}

__device__ __forceinline__ RowSum no_tiles() {
  return {-INFINITY, 0.0f};
}

struct MergeFactors {
  float kept, added;
};

// The factors that merge the values of a row with largest score `before` and those of a tile.
__device__ __forceinline__ MergeFactors merge_factors(float before, float of_tile) {
  const float top = fmaxf(before, of_tile), base = top == -INFINITY ? 0.0f : top;
  return {power_of_two(__fadd_rn(before, -base)), power_of_two(__fadd_rn(of_tile, -base))};
}
__device__ __forceinline__ float merge(float row, float tile, const MergeFactors& factors) {
  return __fmaf_rn(row, factors.kept, __fmul_rn(tile, factors.added));
}

// Merges the next tile into a row; the caller applies the returned factors to the values.
__device__ __forceinline__ MergeFactors merge(RowSum& row, const RowSum& tile) {
  const MergeFactors factors = merge_factors(row.top, tile.top);
  row = {fmaxf(row.top, tile.top), merge(row.sum, tile.sum, factors)};
  return factors;
}

// Adding zero turns -0 into 0: the sign of a zero would depend on tiles that the row does not see.
__device__ __forceinline__ float finished(float value, float inverse_sum) {
  return __fadd_rn(__fmul_rn(value, inverse_sum), 0.0f);
}

}  // namespace counterbeam::cuda
