// Few query rows against one tile of keys: shared by the decoding kernels. A thread block is two
// warps; each computes the weights of all keys for 16 query rows. With two sets of 16 rows, each
// warp has one and multiplies all columns of the values; with one set, both warps compute the same
// weights and multiply half of the columns each. So the warps need no barrier in between.
#pragma once

#include "backend/cuda/attention_rows.cuh"
#include "backend/cuda/launch.h"

namespace counterbeam::cuda {

constexpr int kFewThreads = 64;
// Query rows per block at a time; wide heads leave no shared memory for more.
template <int D>
constexpr int kFewRows = D <= 128 ? 32 : 16;

template <int D>
struct TileMemory {
  static_assert(D >= kTileKeys);
  alignas(128) char keys[kTileKeys * D * 2];
  char values[kTileKeys * D * 2];
  std::uint64_t barriers[2];  // of keys and values
};

template <int D, int kRows>
struct QueryMemory {
  alignas(128) char rows[kRows * D * 2];
};

// Once per kernel, by one thread.
template <int D>
__device__ __forceinline__ void make_barriers(TileMemory<D>& memory) {
  barrier_init(&memory.barriers[0], 1);
  barrier_init(&memory.barriers[1], 1);
  barriers_visible();
}

// By one thread: starts the bulk copy of a tile's keys or values, if there is a tile.
template <int D>
__device__ __forceinline__ void start_keys(TileMemory<D>& memory, const AttentionInput& in,
                                           const ReaderRows& rows) {
  const SharedTile& tile = rows.tile;
  if (tile.readers > 0)
    copy_tile<D>(memory.keys, in.kv.keys, in, rows.kv_head, tile.pages, tile.stored,
                 &memory.barriers[0]);
}
template <int D>
__device__ __forceinline__ void start_values(TileMemory<D>& memory, const AttentionInput& in,
                                             const ReaderRows& rows) {
  const SharedTile& tile = rows.tile;
  if (tile.readers > 0)
    copy_tile<D>(memory.values, in.kv.values, in, rows.kv_head, tile.pages, tile.stored,
                 &memory.barriers[1]);
}
template <int D>
__device__ __forceinline__ void start_tile(TileMemory<D>& memory, const AttentionInput& in,
                                           const ReaderRows& rows) {
  start_keys(memory, in, rows);
  start_values(memory, in, rows);
}

// The codes of a tile, in registers while the tile before is computed. Wide heads would take too
// many, and are loaded when they are needed. Nothing for other kinds of tiles.
template <int D, TileLoad kLoad>
class NextCodes {
 public:
  __device__ __forceinline__ void load(const AttentionInput&, const ReaderRows&) {}
  __device__ __forceinline__ void store(TileMemory<D>&, const AttentionInput&, const ReaderRows&) {}
};

template <int D>
requires(D <= 128) class NextCodes<D, TileLoad::Codes> {
 public:
  __device__ __forceinline__ void load(const AttentionInput& in, const ReaderRows& rows) {
    const SharedTile& tile = rows.tile;
    if (tile.readers == 0) return;
    keys_.load(in.kv.keys, in.kv, rows.kv_head, tile.pages, tile.stored);
    values_.load(in.kv.values, in.kv, rows.kv_head, tile.pages, tile.stored);
  }
  __device__ __forceinline__ void store(TileMemory<D>& memory, const AttentionInput& in,
                                        const ReaderRows&) {
    keys_.store(memory.keys, in.kv.type);
    values_.store(memory.values, in.kv.type);
  }

 private:
  KvCodeTile<D, kFewThreads> keys_, values_;
};

template <>
class NextCodes<256, TileLoad::Codes> {
 public:
  __device__ __forceinline__ void load(const AttentionInput&, const ReaderRows&) {}
  __device__ __forceinline__ void store(TileMemory<256>& memory, const AttentionInput& in,
                                        const ReaderRows& rows) {
    const SharedTile& tile = rows.tile;
    KvCodeTile<256, kFewThreads> codes;
    codes.load(in.kv.keys, in.kv, rows.kv_head, tile.pages, tile.stored);
    codes.store(memory.keys, in.kv.type);
    codes.load(in.kv.values, in.kv, rows.kv_head, tile.pages, tile.stored);
    codes.store(memory.values, in.kv.type);
  }
};

// By all threads, before a __syncthreads(): loads what the bulk copies do not.
template <int D, TileLoad kLoad>
__device__ __forceinline__ void complete_tile(TileMemory<D>& memory, const AttentionInput& in,
                                              const ReaderRows& rows, NextCodes<D, kLoad>& codes) {
  const int thread = threadIdx.x, stored = rows.tile.stored, head = rows.kv_head;
  if (kLoad == TileLoad::Codes) {
    codes.store(memory, in, rows);
  } else if (kLoad == TileLoad::Gather) {
    const auto& pages = rows.tile.pages;
    gather_tile<D>(memory.keys, in.kv.keys, in, head, pages, stored, thread, kFewThreads);
    gather_tile<D>(memory.values, in.kv.values, in, head, pages, stored, thread, kFewThreads);
  } else {
    wipe_values<D>(memory.values, stored, thread, kFewThreads);
  }
}

// A warp's share of the work on `count` query rows, at most kFewRows.
template <int D>
struct WarpShare {
  int first_row;            // of 16
  int first_piece, pieces;  // of 8 columns

  __device__ explicit WarpShare(int count) {
    const int warp = threadIdx.x / 32;
    const bool two = kFewRows<D> > 16 && count > 16;
    first_row = two ? warp * 16 : 0;
    pieces = two ? D / 8 : D / 16;
    first_piece = two ? 0 : warp * pieces;
  }
};

// Computes a tile for the 16 query rows of a warp, starting at query row `first` of the readers;
// they lie at `queries`. `parity`: of the tile's barriers. Of query row 8 half + lane / 4:
// sum_of(half, sum) is called by all lanes, values_of(half, column, low, high) for a lane's
// columns. keys_read() is called as soon as the warp is done with the keys.
template <int D, TileLoad kLoad, typename KeysRead, typename SumOf, typename ValuesOf>
__device__ __forceinline__ void attend(const char* queries, TileMemory<D>& tile, int parity,
                                       const AttentionInput& in, const ReaderRows& rows, int first,
                                       const WarpShare<D>& share, const KeysRead& keys_read,
                                       const SumOf& sum_of, const ValuesOf& values_of) {
  const int lane = threadIdx.x & 31;
  const std::uint32_t query = row_at<D>(shared_address(queries), lane & 15, lane >> 4);
  if (kLoad == TileLoad::Bulk) barrier_wait(&tile.barriers[0], parity);
  float s[1][8][4];
  score<D>(s, shared_address(tile.keys), 0,
           [&](int k, std::uint32_t(&a)[1][4]) { load_matrices(a[0], piece_at(query, 2 * k)); });
  keys_read();
  if (!rows.tile.settled || in.window > 0) {
    const int position[1][2] = {
        {rows.position(first + lane / 4), rows.position(first + 8 + lane / 4)}};
    mask(s, position, rows.tile.tile * kTileKeys, in.window);
  }
  std::uint32_t p[1][4][4];
  RowSum made[1][2];
  weigh(p, made, s, in.scale);
  sum_of(0, made[0][0]);
  sum_of(1, made[0][1]);
  if (kLoad == TileLoad::Bulk) barrier_wait(&tile.barriers[1], parity);
  constexpr int kPieces = 4;  // multiplied at a time
  for (int piece = share.first_piece; piece < share.first_piece + share.pieces; piece += kPieces) {
    float o[1][kPieces][4] = {};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      std::uint32_t a[1][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) a[0][i] = p[0][k][i];
      add_values<D>(o, a, k, shared_address(tile.values), piece);
    }
#pragma unroll
    for (int i = 0; i < 2 * kPieces; ++i) {
      const int half = i / kPieces, n = i % kPieces;
      values_of(half, (piece + n) * 8 + (lane & 3) * 2, o[0][n][2 * half], o[0][n][2 * half + 1]);
    }
  }
}

}  // namespace counterbeam::cuda
