// Attention for segments with many query rows (prefill and scoring): a thread block holds up to 128
// query rows and walks the tiles of keys, with two tiles in flight.
#include "backend/cuda/attention_kinds.h"
#include "backend/cuda/attention_rows.cuh"
#include "backend/cuda/launch.h"

namespace counterbeam::cuda {
namespace {

constexpr int kRows = 128;  // of a block
constexpr int kStages = 2;

template <int D>
struct Shape {
  static constexpr int kRowTiles = D == 128 ? 2 : 1;  // of 16 rows, to a warp
  static constexpr int kWarps = kRows / 16 / kRowTiles;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kBlocks = D <= 128 ? 2 : 1;  // on a multiprocessor
  static constexpr int kQueryBytes = kRows * D * 2;
  static constexpr int kTileBytes = kTileKeys * D * 2;
  static constexpr int kBytes = kQueryBytes + kStages * 2 * kTileBytes;
  static constexpr int kColumns = 16;  // of the values multiplied at a time
};

// Loads tiles in order, starting at the block's first.
template <int D, TileLoad kLoad>
class TileLoader {
 public:
  __device__ TileLoader(const AttentionInput& in, const QueryRows& rows, char* memory,
                        std::uint64_t (*barriers)[2], int first, int end)
      : in_(in), rows_(rows), memory_(memory), barriers_(barriers), first_(first), end_(end) {
    if (kLoad == TileLoad::Bulk && threadIdx.x == 0) {
      for (int i = 0; i < kStages * 2; ++i) barrier_init(&barriers[i / 2][i % 2], 1);
      barriers_visible();
      tile_pages(pages_, in, rows, first);
    }
  }
  __device__ char* keys(int tile) const { return memory_ + stage(tile) * 2 * Shape<D>::kTileBytes; }
  __device__ char* values(int tile) const { return keys(tile) + Shape<D>::kTileBytes; }

  // Called by all threads when the buffer is no longer read. The tile is visible after a
  // __syncthreads() and wait_for_keys() or wait_for_values().
  __device__ void start(int tile) {
    if (tile >= end_) return;
    const int stored = stored_keys(rows_, tile), head = rows_.kv_head;
    if (kLoad == TileLoad::Codes) {
      tile_pages(pages_, in_, rows_, tile);
      KvCodeTile<D, Shape<D>::kThreads> keys_of, values_of;
      keys_of.load(in_.kv.keys, in_.kv, head, pages_, stored);
      values_of.load(in_.kv.values, in_.kv, head, pages_, stored);
      keys_of.store(keys(tile), in_.kv.type);
      values_of.store(values(tile), in_.kv.type);
      return;
    }
    if (kLoad == TileLoad::Gather) {
      tile_pages(pages_, in_, rows_, tile);
      gather_tile<D>(keys(tile), in_.kv.keys, in_, head, pages_, stored, threadIdx.x, blockDim.x);
      gather_tile<D>(values(tile), in_.kv.values, in_, head, pages_, stored, threadIdx.x,
                     blockDim.x);
      return;
    }
    if (threadIdx.x == 0) {
      std::uint64_t* barriers = barriers_[stage(tile)];
      copy_tile<D>(keys(tile), in_.kv.keys, in_, head, pages_, stored, &barriers[0]);
      copy_tile<D>(values(tile), in_.kv.values, in_, head, pages_, stored, &barriers[1]);
      if (tile + 1 < end_) tile_pages(pages_, in_, rows_, tile + 1);
    }
    wipe_values<D>(values(tile), stored, threadIdx.x, blockDim.x);
  }
  __device__ void wait_for_keys(int tile) const { wait(tile, 0); }
  __device__ void wait_for_values(int tile) const { wait(tile, 1); }

 private:
  __device__ int stage(int tile) const { return (tile - first_) % kStages; }
  __device__ void wait(int tile, int which) const {
    if (kLoad == TileLoad::Bulk)
      barrier_wait(&barriers_[stage(tile)][which], (tile - first_) / kStages & 1);
  }
  const AttentionInput& in_;
  const QueryRows& rows_;
  char* memory_;
  std::uint64_t (*barriers_)[2];
  int first_, end_;
  int pages_[kTilePages] = {};  // of the tile to be started next
};

// The rows of a warp and their results over the tiles so far.
template <int D>
struct WarpRows {
  static constexpr int M = Shape<D>::kRowTiles;
  int first_position, last_position;
  int position[M][2];
  RowSum sums[M][2];
  float values[M][D / 8][4] = {};

  __device__ WarpRows(const QueryRows& rows, int first)
      : first_position(rows.position(first)), last_position(rows.position(first + 16 * M - 1)) {
#pragma unroll
    for (int i = 0; i < M * 2; ++i) {
      position[i / 2][i % 2] = rows.position(first + i * 8 + (threadIdx.x & 31) / 4);
      sums[i / 2][i % 2] = no_tiles();
    }
  }
  // Whether some row sees some key of the tile; whether all see all.
  __device__ bool sees_some(int key, int window) const {
    return key <= last_position && (window <= 0 || key + kTileKeys - 1 > first_position - window);
  }
  __device__ bool sees_all(int key, int window) const {
    return key + kTileKeys - 1 <= first_position && (window <= 0 || key > last_position - window);
  }
};

template <int D, TileLoad kLoad>
__device__ __forceinline__ void attend_tile(WarpRows<D>& warp, std::uint32_t queries,
                                            const TileLoader<D, kLoad>& tiles, int tile,
                                            const AttentionInput& in) {
  constexpr int M = WarpRows<D>::M, kN = Shape<D>::kColumns / 8;
  const int lane = threadIdx.x & 31, key = tile * kTileKeys;
  float s[M][8][4];
  tiles.wait_for_keys(tile);
  const std::uint32_t row = row_at<D>(queries, lane & 15, lane >> 4);
  score<D>(s, shared_address(tiles.keys(tile)), 0, [&](int k, std::uint32_t(&a)[M][4]) {
#pragma unroll
    for (int m = 0; m < M; ++m) load_matrices(a[m], piece_at(row, 2 * k) + m * 16 * D * 2);
  });
  if (!warp.sees_all(key, in.window)) mask(s, warp.position, key, in.window);
  std::uint32_t p[M][4][4];
  RowSum made[M][2];
  weigh(p, made, s, in.scale);
  MergeFactors factors[M][2];
#pragma unroll
  for (int i = 0; i < M * 2; ++i)
    factors[i / 2][i % 2] = merge(warp.sums[i / 2][i % 2], made[i / 2][i % 2]);
  tiles.wait_for_values(tile);
#pragma unroll
  for (int first = 0; first < D / 8; first += kN) {
    float o[M][kN][4] = {};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      std::uint32_t a[M][4];
#pragma unroll
      for (int i = 0; i < M * 4; ++i) a[i / 4][i % 4] = p[i / 4][k][i % 4];
      add_values<D>(o, a, k, shared_address(tiles.values(tile)), first);
    }
#pragma unroll
    for (int i = 0; i < M * kN * 4; ++i) {
      const int m = i / (kN * 4), n = i / 4 % kN, e = i % 4;
      float& kept = warp.values[m][first + n][e];
      kept = merge(kept, o[m][n][e], factors[m][e >> 1]);
    }
  }
}

template <int D, bool kGeneral>
__device__ void write(const WarpRows<D>& warp, const AttentionInput& in, const QueryRows& rows,
                      int first) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int i = 0; i < WarpRows<D>::M * 2; ++i) {
    const int f = first + i * 8 + lane / 4;
    if (f >= rows.count()) continue;
    const float inverse = __frcp_rn(warp.sums[i / 2][i % 2].sum);
    Bf16* to = in.out + std::ptrdiff_t(rows.row(f)) * in.out_stride + rows.head(f) * in.kv.head_dim;
#pragma unroll
    for (int n = 0; n < D / 8; ++n) {
      const float* pair = &warp.values[i / 2][n][2 * (i % 2)];
      write_pair<kGeneral>(to, n * 8 + (lane & 3) * 2, in.kv.head_dim, finished(pair[0], inverse),
                           finished(pair[1], inverse));
    }
  }
}

// grid (key heads, segments, row tiles), the rows that see the most keys first.
template <int D, TileLoad kLoad>
__global__ void __launch_bounds__(Shape<D>::kThreads, Shape<D>::kBlocks)
    attend_rows(AttentionInput in) {
  constexpr bool kGeneral = kLoad == TileLoad::Gather;
  extern __shared__ __align__(128) char memory[];
  __shared__ std::uint64_t barriers[kStages][2];
  let_successor_start();
  wait_for_predecessor();
  const QueryRows rows{in.batch.segments[blockIdx.y], in.group, int(blockIdx.x)};
  const int first = int(gridDim.z - 1 - blockIdx.z) * kRows;
  if (first >= rows.count()) return;
  const int tile_first = rows.first_tile(first, in.window);
  const int tile_end = rows.end_tile(first + kRows - 1);
  TileLoader<D, kLoad> tiles(in, rows, memory + Shape<D>::kQueryBytes, barriers, tile_first,
                             tile_end);
  for (int i = 0; i < kStages; ++i) tiles.start(tile_first + i);
  Queries<D, kRows, Shape<D>::kThreads, kGeneral> queries_here;
  queries_here.load(in, rows, first);
  queries_here.store(memory);
  __syncthreads();
  const int warp_row = int(threadIdx.x) / 32 * 16 * WarpRows<D>::M;
  WarpRows<D> warp(rows, first + warp_row);
  const bool idle = first + warp_row >= rows.count();
  const std::uint32_t queries = shared_address(memory + warp_row * D * 2);
  for (int tile = tile_first; tile < tile_end; ++tile) {
    if (!idle && warp.sees_some(tile * kTileKeys, in.window)) {
      attend_tile<D, kLoad>(warp, queries, tiles, tile, in);
    } else {
      tiles.wait_for_keys(tile);
      tiles.wait_for_values(tile);
    }
    __syncthreads();
    tiles.start(tile + kStages);
    if (kLoad != TileLoad::Bulk) __syncthreads();
  }
  write<D, kGeneral>(warp, in, rows, first + warp_row);
}

template <int D, TileLoad kLoad>
void attend(cudaStream_t stream, const AttentionInput& in) {
  allow_shared<attend_rows<D, kLoad>>(Shape<D>::kBytes);
  const int query_rows = in.batch.longest_segment * in.group;
  launch(stream, "attention", attend_rows<D, kLoad>,
         {unsigned(in.kv.heads), unsigned(in.batch.segment_count),
          unsigned((query_rows + kRows - 1) / kRows)},
         Shape<D>::kThreads, Shape<D>::kBytes, in);
}

}  // namespace

void attend_many(cudaStream_t stream, const AttentionInput& in, int width, bool general) {
  with_load(in, general, [&]<TileLoad kLoad>() {
    if (width == 64) return attend<64, kLoad>(stream, in);
    if (width == 128) return attend<128, kLoad>(stream, in);
    attend<256, kLoad>(stream, in);
  });
}

}  // namespace counterbeam::cuda
