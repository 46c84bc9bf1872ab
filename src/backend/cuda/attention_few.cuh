// One block, one tile of keys, 16 query rows: what the kernels for few query rows (decoding) share.
// Each of the four warps scores 16 keys, then multiplies a quarter of the columns of the values.
// Tiles that earlier steps have stored are loaded while the kernels before still run.
#pragma once

#include "backend/cuda/attention_rows.cuh"
#include "backend/cuda/launch.h"

namespace counterbeam::cuda {

constexpr int kFewRows = 16;  // query rows of a block
constexpr int kFewThreads = 128;

template <int D>
struct FewMemory {
  static_assert(D >= kTileKeys);
  alignas(128) char keys[kTileKeys * D * 2];
  char values[kTileKeys * D * 2];
  char queries[kFewRows * D * 2];  // and then, in their place, the weights [kFewRows, kTileKeys]
  float tops[4][kFewRows];         // of the keys of a warp
  float sums[4][kFewRows][4];      // likewise, by lane
  std::uint64_t barriers[2];       // of keys and values
};

// The rows of a block, and the tiles some of them see.
struct FewRows {
  QueryRows rows;
  int first, count;
  int first_tile, end_tile;

  __device__ FewRows(const AttentionInput& in, int segment, int row_tile, int kv_head)
      : rows{in.batch.segments[segment], in.group, kv_head},
        first(row_tile * kFewRows),
        count(min(kFewRows, rows.count() - first)),
        first_tile(count > 0 ? rows.first_tile(first, in.window) : 0),
        end_tile(count > 0 ? rows.end_tile(first + kFewRows - 1) : 0) {}
  __device__ bool sees(int tile) const { return tile >= first_tile && tile < end_tile; }
};

// Starts loading the tile; visible after a barrier of the block.
template <int D, bool kGeneral>
__device__ __forceinline__ void load_tile(FewMemory<D>& memory, const AttentionInput& in,
                                          const QueryRows& rows, int tile) {
  const int thread = threadIdx.x;
  if (kGeneral) {
    gather_tile<D>(memory.keys, in.kv.keys, in, rows, tile, thread, kFewThreads);
    gather_tile<D>(memory.values, in.kv.values, in, rows, tile, thread, kFewThreads);
    return;
  }
  const int stored = stored_keys(rows, tile);
  if (thread == 0) {
    barrier_init(&memory.barriers[0], 1);
    barrier_init(&memory.barriers[1], 1);
    barriers_visible();
    int pages[kTilePages];
    tile_pages(pages, in, rows, tile);
    copy_tile<D>(memory.keys, in.kv.keys, in, rows, pages, stored, &memory.barriers[0]);
    copy_tile<D>(memory.values, in.kv.values, in, rows, pages, stored, &memory.barriers[1]);
  }
  wipe_values<D>(memory.values, stored, thread, kFewThreads);
}

// The scores of a warp's 16 keys into weights.
template <int D>
__device__ __forceinline__ void weigh_keys(FewMemory<D>& memory, const AttentionInput& in,
                                           const FewRows& few, int tile) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31, f = few.first + lane / 4;
  const std::uint32_t row = row_at<D>(shared_address(memory.queries), lane & 15, lane >> 4);
  float s[1][2][4];
  score<D>(s, shared_address(memory.keys), warp * 16,
           [&](int k, std::uint32_t(&a)[1][4]) { load_matrices(a[0], piece_at(row, 2 * k)); });
  const int position[1][2] = {{few.rows.position(f), few.rows.position(f + 8)}};
  mask(s, position, tile * kTileKeys + warp * 16, in.window);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float(&low)[4] = s[0][0], (&high)[4] = s[0][1];
    const int e = 2 * half;
    const float top = largest_of_row(fmaxf(fmaxf(low[e], low[e + 1]), fmaxf(high[e], high[e + 1])));
    if ((lane & 3) == 0) memory.tops[warp][lane / 4 + half * 8] = top;
  }
  __syncthreads();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float(&low)[4] = s[0][0], (&high)[4] = s[0][1];
    const int row = lane / 4 + half * 8, e = 2 * half;
    memory.sums[warp][row][lane & 3] = weigh_four(low[e], low[e + 1], high[e], high[e + 1],
                                                  row_top(memory, row, in.scale), in.scale);
    char* to = memory.queries + (lane & 3) * 4;
    *reinterpret_cast<std::uint32_t*>(to + tile_offset<kTileKeys>(row, warp * 2)) =
        pack(low[e], low[e + 1]);
    *reinterpret_cast<std::uint32_t*>(to + tile_offset<kTileKeys>(row, warp * 2 + 1)) =
        pack(high[e], high[e + 1]);
  }
  __syncthreads();
}

template <int D>
__device__ __forceinline__ float row_top(const FewMemory<D>& memory, int row, float scale) {
  return scaled_top(fmaxf(fmaxf(memory.tops[0][row], memory.tops[1][row]),
                          fmaxf(memory.tops[2][row], memory.tops[3][row])),
                    scale);
}

// What a row made of the block's tile, after attend_tile().
template <int D>
__device__ __forceinline__ RowSum row_sum(const FewMemory<D>& memory, int row, float scale) {
  float lanes[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    lanes[i] = sum_of_four(memory.sums[0][row][i], memory.sums[1][row][i], memory.sums[2][row][i],
                           memory.sums[3][row][i]);
  return {row_top(memory, row, scale), sum_of_four(lanes[0], lanes[1], lanes[2], lanes[3])};
}

// A warp's quarter of the weighted values: columns from D / 4 warp on. Waits for the kernels
// before; called by all threads of a block, of which those that do not see the tile return at once.
template <int D, bool kGeneral>
__device__ __forceinline__ void attend_tile(float (&values)[1][D / 32][4], FewMemory<D>& memory,
                                            const AttentionInput& in, const FewRows& few,
                                            int tile) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
  const bool seen = few.sees(tile);
  const bool settled = (tile + 1) * kTileKeys <= few.rows.segment.position;
  if (seen && settled) load_tile<D, kGeneral>(memory, in, few.rows, tile);
  wait_for_predecessor();
  if (!seen) return;
  if (!settled) load_tile<D, kGeneral>(memory, in, few.rows, tile);
  load_queries<D, kFewRows, kFewThreads, kGeneral>(memory.queries, in, few.rows, few.first);
  __syncthreads();
  if (!kGeneral) barrier_wait(&memory.barriers[0], 0);
  weigh_keys<D>(memory, in, few, tile);
  if (!kGeneral) barrier_wait(&memory.barriers[1], 0);
#pragma unroll
  for (int i = 0; i < D / 8; ++i) values[0][i / 4][i % 4] = 0;
  const std::uint32_t row = row_at<kTileKeys>(shared_address(memory.queries), lane & 15, lane >> 4);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    std::uint32_t p[1][4];
    load_matrices(p[0], piece_at(row, 2 * k));
    add_values<D>(values, p, k, shared_address(memory.values), warp * D / 32);
  }
}

// Puts a warp's columns into row `row`, whose first column is at `to`.
template <int D>
__device__ __forceinline__ void write_partial(float* to, const float (&values)[1][D / 32][4],
                                              int half) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
#pragma unroll
  for (int n = 0; n < D / 32; ++n) {
    *reinterpret_cast<float2*>(to + warp * (D / 4) + n * 8 + (lane & 3) * 2) =
        float2{values[0][n][2 * half], values[0][n][2 * half + 1]};
  }
}

}  // namespace counterbeam::cuda
