// One warp, one tile of keys, 16 query rows: what the kernels for few query rows (decoding) share.
// Tiles that earlier steps have stored are loaded while the kernels before still run.
#pragma once

#include "backend/cuda/attention_rows.cuh"
#include "backend/cuda/launch.h"

namespace counterbeam::cuda {

constexpr int kFewRows = 16;  // query rows of a block

// Warps of a block: 64 KiB of keys and values, so that a multiprocessor has three blocks, one of
// which computes while others load.
template <int D>
constexpr int kFewWarps = 256 / D;

template <int D>
constexpr int kTileBytes = kTileKeys* D * 2;

template <int D>
constexpr int kFewBytes = kFewWarps<D> * 2 * kTileBytes<D>;

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

template <int D, bool kGeneral>
__device__ __forceinline__ void load_queries(std::uint32_t (&q)[D / 16][4],
                                             const AttentionInput& in, const FewRows& few) {
  const int f = few.first + (threadIdx.x & 31) / 4, column = (threadIdx.x & 3) * 2;
#pragma unroll
  for (int k = 0; k < D / 16; ++k) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      q[k][i] = query_pair<kGeneral>(in, few.rows, f + (i & 1) * 8, k * 16 + (i >> 1) * 8 + column);
  }
}

// Starts loading a warp's tile: keys at `to`, then values.
template <int D, bool kGeneral>
__device__ __forceinline__ void load_tile(char* to, std::uint64_t* barriers,
                                          const AttentionInput& in, const QueryRows& rows,
                                          int tile) {
  const int lane = threadIdx.x & 31;
  char* values = to + kTileBytes<D>;
  if (kGeneral) {
    gather_tile<D>(to, in.kv.keys, in, rows, tile, lane, 32);
    gather_tile<D>(values, in.kv.values, in, rows, tile, lane, 32);
  } else {
    const int stored = stored_keys(rows, tile);
    if (lane == 0) {
      barrier_init(&barriers[0], 1);
      barrier_init(&barriers[1], 1);
      barriers_visible();
      int pages[kTilePages];
      tile_pages(pages, in, rows, tile);
      copy_tile<D>(to, in.kv.keys, in, rows, pages, stored, &barriers[0]);
      copy_tile<D>(values, in.kv.values, in, rows, pages, stored, &barriers[1]);
    }
    wipe_values<D>(values, stored, lane, 32);
  }
  __syncwarp();
}

// What the rows make of the tile at `memory`. Waits for the kernels before; called by all warps of
// a block, with `seen` where the warp has a tile.
template <int D, bool kGeneral>
__device__ __forceinline__ void attend_tile(float (&values)[1][D / 8][4], RowSum (&sums)[1][2],
                                            char* memory, std::uint64_t* barriers,
                                            const AttentionInput& in, const FewRows& few, int tile,
                                            bool seen) {
  const bool settled = (tile + 1) * kTileKeys <= few.rows.segment.position;
  if (seen && settled) load_tile<D, kGeneral>(memory, barriers, in, few.rows, tile);
  wait_for_predecessor();
  if (!seen) return;
  if (!settled) load_tile<D, kGeneral>(memory, barriers, in, few.rows, tile);
  std::uint32_t q[D / 16][4];
  load_queries<D, kGeneral>(q, in, few);
  const int f = few.first + (threadIdx.x & 31) / 4;
  const int position[1][2] = {{few.rows.position(f), few.rows.position(f + 8)}};
  if (!kGeneral) barrier_wait(&barriers[0], 0);
  float s[1][8][4];
  score<D>(s, shared_address(memory), [&](int k, std::uint32_t(&a)[1][4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) a[0][i] = q[k][i];
  });
  mask(s, position, tile * kTileKeys, in.window);
  std::uint32_t p[1][4][4];
  weigh(p, sums, s, in.scale);
  if (!kGeneral) barrier_wait(&barriers[1], 0);
  weighted_values<D>(values, p, shared_address(memory + kTileBytes<D>), 0);
}

// Puts what a warp made of a tile where `at(half)` says row l / 4 + 8 half goes; null: nowhere.
template <int D, typename At>
__device__ __forceinline__ void write_partial(const float (&values)[1][D / 8][4], const At& at) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float* to = at(half);
    if (to == nullptr) continue;
#pragma unroll
    for (int n = 0; n < D / 8; ++n) {
      *reinterpret_cast<float2*>(to + n * 8 + (threadIdx.x & 3) * 2) =
          float2{values[0][n][2 * half], values[0][n][2 * half + 1]};
    }
  }
}

}  // namespace counterbeam::cuda
