// Attention for segments with few query rows and any context. A persistent kernel, with as many
// thread blocks as are resident at once, takes the listed tiles of keys one after the other,
// prefetching the next tile's keys; up to four rows that share the tile's pages read it together. A
// second kernel merges the results per row.
#include <algorithm>

#include "backend/cuda/attention_few.cuh"

namespace counterbeam::cuda {
namespace {

__device__ __forceinline__ bool somebody_sees(const SharedTile& tile, int window) {
  if (window <= 0) return true;
  bool seen = false;
#pragma unroll
  for (int i = 0; i < kTileReaders; ++i)
    seen |= i < tile.readers && (tile.tile + 1) * kTileKeys > tile.position[i] - window + 1;
  return seen;
}

// Computes at most kFewRows query rows of the block's tile, starting at `first`.
template <int D, TileLoad kLoad, typename KeysRead>
__device__ __forceinline__ void attend_part(const char* queries, TileMemory<D>& tile, int parity,
                                            const AttentionInput& in, const ReaderRows& rows,
                                            int first, const KeysRead& keys_read) {
  const WarpShare<D> share(rows.count() - first);
  const int lane = threadIdx.x & 31, from = first + share.first_row;
  std::size_t places[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int f = from + half * 8 + lane / 4;
    const std::size_t head =
        std::size_t(rows.row(f)) * std::size_t(in.heads) + std::size_t(rows.head(f));
    places[half] = head * std::size_t(in.partial_tiles) + std::size_t(rows.tile.tile);
  }
  const bool is_row[] = {from + lane / 4 < rows.count(), from + 8 + lane / 4 < rows.count()};
  attend<D, kLoad>(
      queries + share.first_row * D * 2, tile, parity, in, rows, from, share, keys_read,
      [&](int half, const RowSum& sum) {
        const bool writes = share.first_piece == 0 && (lane & 3) == 0;
        if (writes && is_row[half]) in.partial_sums[places[half]] = sum;
      },
      [&](int half, int column, float low, float high) {
        if (is_row[half])
          *reinterpret_cast<float2*>(in.partial_values + places[half] * D + column) = {low, high};
      });
}

template <int D>
struct PartsMemory {
  TileMemory<D> tile;
  QueryMemory<D, kFewRows<D>> queries;
};

// The work of a block: every gridDim.x-th pair of a tile and a key head. Beyond the last pair,
// tiles have no readers.
struct BlockTiles {
  const AttentionInput& in;
  int end;

  __device__ explicit BlockTiles(const AttentionInput& input)
      : in(input), end(*input.batch.tile_count * input.kv.heads) {}
  __device__ ReaderRows rows(int i) const {
    const int index = int(blockIdx.x) + i * int(gridDim.x), heads = in.kv.heads;
    ReaderRows rows{in.batch.tiles[min(index, end - 1) / heads], in.group, index % heads,
                    in.group_inverse};
    if (index >= end) rows.tile.readers = 0;
    return rows;
  }
};

template <int D, TileLoad kLoad>
__global__ void __launch_bounds__(kFewThreads) attend_parts(AttentionInput in) {
  constexpr bool kGeneral = kLoad == TileLoad::Gather;
  extern __shared__ __align__(128) char shared[];
  auto& [tile, query_memory] = *reinterpret_cast<PartsMemory<D>*>(shared);
  let_successor_start();
  const BlockTiles tiles(in);
  const bool copies = kLoad == TileLoad::Bulk && threadIdx.x == 0;
  ReaderRows rows = tiles.rows(0);
  NextCodes<D, kLoad> codes;
  if (rows.tile.settled) codes.load(in, rows);
  if (copies) {
    make_barriers(tile);
    if (rows.tile.settled) start_tile(tile, in, rows);
  }
  wait_for_predecessor();
  if (copies && !rows.tile.settled) start_tile(tile, in, rows);
  if (!rows.tile.settled) codes.load(in, rows);
  Queries<D, kFewRows<D>, kFewThreads, kGeneral> queries;
  queries.load(in, rows, 0);
  for (int i = 0; rows.tile.readers > 0; ++i) {
    const ReaderRows next = tiles.rows(i + 1);
    queries.store(query_memory.rows);
    queries.load(in, next, 0);
    const bool seen = somebody_sees(rows.tile, in.window);
    if (seen) complete_tile<D, kLoad>(tile, in, rows, codes);
    codes.load(in, next);
    if (seen) {
      for (int first = 0; first < rows.count(); first += kFewRows<D>) {
        if (first > 0) {
          Queries<D, kFewRows<D>, kFewThreads, kGeneral> more;
          more.load(in, rows, first);
          __syncthreads();  // until no thread reads the previous rows
          more.store(query_memory.rows);
        }
        __syncthreads();
        // The next tile's keys are copied while the values are multiplied.
        const bool last = first + kFewRows<D> >= rows.count();
        attend_part<D, kLoad>(query_memory.rows, tile, i & 1, in, rows, first, [&] {
          if (!last) return;
          __syncthreads();
          if (copies) start_keys(tile, in, next);
        });
      }
    } else if (copies) {
      barrier_wait(&tile.barriers[0], i & 1);
      barrier_wait(&tile.barriers[1], i & 1);
      start_keys(tile, in, next);
    }
    writes_before_copies();
    __syncthreads();  // until no thread reads this tile
    if (copies) start_values(tile, in, next);
    rows = next;
  }
}

// Few enough registers that a block of the next GEMM fits beside three of these on a
// multiprocessor.
constexpr int kMergeWarps = 4, kMergeLoads = 6, kMergeResident = 5;
constexpr int kMergeChunk = 32 / kMergeLoads * kMergeLoads;  // tiles, each with a lane

// The factors of up to 32 tiles at once, one tile per lane; `top` is the row's largest score so
// far.
__device__ __forceinline__ MergeFactors lane_factors(float& top, float of_tile) {
  const int lane = threadIdx.x & 31;
  float most = of_tile;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const float other = __shfl_up_sync(~0u, most, step);
    if (lane >= step) most = fmaxf(most, other);
  }
  const float others = __shfl_up_sync(~0u, most, 1);
  const float before = lane == 0 ? top : fmaxf(top, others);
  top = fmaxf(top, __shfl_sync(~0u, most, 31));
  return merge_factors(before, of_tile);
}

// Columns per lane.
template <int D>
constexpr int kMergeColumns = D == 64 ? 2 : 4;

// One warp per head, or per half of a head of 256 columns.
template <int D, bool kGeneral>
__global__ void __launch_bounds__(kMergeWarps * 32, kMergeResident) merge_parts(AttentionInput in) {
  constexpr int kColumns = kMergeColumns<D>, kWarps = D / (32 * kColumns);
  struct alignas(kColumns * 4) Columns {
    float at[kColumns];
  };
  let_successor_start();
  const int item = int(blockIdx.x) * kMergeWarps + int(threadIdx.x) / 32;
  const int head = item / kWarps % in.heads, row = item / kWarps / in.heads;
  const int position = row < in.batch.rows ? in.batch.row_position[row] : -1;
  wait_for_predecessor();
  if (position < 0) return;
  const int lane = threadIdx.x & 31, column = (item % kWarps * 32 + lane) * kColumns;
  const int first = in.window > 0 ? max(0, position - in.window + 1) / kTileKeys : 0;
  const int end = position / kTileKeys + 1;
  const std::size_t at = (std::size_t(row) * std::size_t(in.heads) + std::size_t(head)) *
                         std::size_t(in.partial_tiles);
  const float* values = in.partial_values + at * D + column;
  float top = -INFINITY, sum = 0;
  Columns all{};
  const auto load = [&](Columns(&some)[kMergeLoads], int tile) {
#pragma unroll
    for (int i = 0; i < kMergeLoads; ++i, ++tile)
      some[i] = tile < end ? *reinterpret_cast<const Columns*>(values + std::size_t(tile) * D)
                           : Columns{};
  };
  // Partial results are never read again: their L2 lines are discarded instead of written back.
  const auto discard = [&](int tile) {
    if (column % 32 != 0) return;  // a line is 32 floats
#pragma unroll
    for (int i = 0; i < kMergeLoads; ++i, ++tile) {
      if (tile < end) discard_line(values + std::size_t(tile) * D);
    }
  };
  for (int chunk = first; chunk < end; chunk += kMergeChunk) {
    // Lanes beyond the last tile have an empty tile, which changes nothing.
    const RowSum own = lane < kMergeChunk && chunk + lane < end
                           ? in.partial_sums[at + std::size_t(chunk + lane)]
                           : no_tiles();
    Columns some[kMergeLoads], more[kMergeLoads];
    load(some, chunk);
    const MergeFactors own_factors = lane_factors(top, own.top);
#pragma unroll
    for (int from = 0; from < kMergeChunk; from += kMergeLoads) {
      if (from >= end - chunk) break;
      load(more, chunk + from + kMergeLoads);
#pragma unroll
      for (int i = 0; i < kMergeLoads; ++i) {
        const MergeFactors factors{__shfl_sync(~0u, own_factors.kept, from + i),
                                   __shfl_sync(~0u, own_factors.added, from + i)};
        sum = merge(sum, __shfl_sync(~0u, own.sum, from + i), factors);
#pragma unroll
        for (int c = 0; c < kColumns; ++c) all.at[c] = merge(all.at[c], some[i].at[c], factors);
      }
      discard(chunk + from);
#pragma unroll
      for (int i = 0; i < kMergeLoads; ++i) some[i] = more[i];
    }
  }
  const float inverse = __frcp_rn(sum);
  Bf16* to = in.out + std::ptrdiff_t(row) * in.out_stride + head * in.kv.head_dim;
#pragma unroll
  for (int c = 0; c < kColumns; c += 2)
    write_pair<kGeneral>(to, column + c, in.kv.head_dim, finished(all.at[c], inverse),
                         finished(all.at[c + 1], inverse));
}

// The number of blocks resident on the device at once.
template <auto kKernel>
int resident_blocks(std::size_t shared_bytes) {
  static const int count = [=] {
    int device = 0, processors = 0, blocks = 0;
    check(cudaGetDevice(&device), "asking for the device");
    check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
          "asking for the number of multiprocessors");
    check(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kKernel, kFewThreads, shared_bytes),
        "asking how many blocks fit");
    return processors * blocks;
  }();
  return count;
}

template <int D, TileLoad kLoad>
void attend(cudaStream_t stream, const AttentionInput& in) {
  constexpr auto kKernel = attend_parts<D, kLoad>;
  constexpr int kBytes = sizeof(PartsMemory<D>);
  allow_shared<kKernel>(kBytes);
  const int most = in.batch.rows * in.partial_tiles * in.kv.heads;
  launch(stream, "attention", kKernel, unsigned(std::min(most, resident_blocks<kKernel>(kBytes))),
         kFewThreads, kBytes, in);
  const int items = in.batch.rows * in.heads * (D / (32 * kMergeColumns<D>));
  launch(stream, "merging attention", merge_parts<D, kLoad == TileLoad::Gather>,
         unsigned((items + kMergeWarps - 1) / kMergeWarps), kMergeWarps * 32, 0, in);
}

}  // namespace

void attend_in_parts(cudaStream_t stream, const AttentionInput& in, int width, bool general) {
  with_load(in, general, [&]<TileLoad kLoad>() {
    if (width == 64) return attend<64, kLoad>(stream, in);
    if (width == 128) return attend<128, kLoad>(stream, in);
    attend<256, kLoad>(stream, in);
  });
}

}  // namespace counterbeam::cuda
