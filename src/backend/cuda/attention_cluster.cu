// Attention for segments with one row and a context that one cluster covers: a thread block per
// tile of keys; the blocks merge their results through distributed shared memory.
#include <cooperative_groups.h>

#include "backend/cuda/attention_few.cuh"

namespace counterbeam::cuda {
namespace {

constexpr int kMostTiles = 16;  // blocks of a cluster
constexpr int kRows = 16;       // query rows: the heads that share a key head

// A block's result for its tile. Rows are padded by 8 banks.
template <int D>
struct Partial {
  RowSum sums[kRows];
  alignas(16) float values[kRows][D + 8];
};

template <int D>
struct ClusterMemory {
  TileMemory<D> tile;
  QueryMemory<D, kRows> queries;
  Partial<D> partial;
};

// grid (cluster, key heads, segments). REQUIRES a block for every tile of any context.
template <int D, int kBlocks>
__global__ void __cluster_dims__(kBlocks, 1, 1) __launch_bounds__(kFewThreads)
    attend_cluster(AttentionInput in) {
  extern __shared__ __align__(128) char shared[];
  ClusterMemory<D>& memory = *reinterpret_cast<ClusterMemory<D>*>(shared);
  Partial<D>& partial = memory.partial;
  let_successor_start();
  const int tile = blockIdx.x, kv_head = blockIdx.y;
  const QueryRows segment{in.batch.segments[blockIdx.z], in.group, kv_head};
  const bool empty = segment.count() == 0;
  const int first_tile = segment.first_tile(0, in.window), end_tile = segment.end_tile(0);
  if (empty || tile < first_tile || tile >= end_tile) {
    wait_for_predecessor();  // keeps kernels in order, which the successor relies on
    return;
  }
  const int position = segment.position(0);
  ReaderRows rows{{}, in.group, kv_head, in.group_inverse};
  tile_pages(rows.tile.pages, in, segment, tile);
  rows.tile.tile = tile;
  rows.tile.stored = short(stored_keys(segment, tile));
  rows.tile.settled = (tile + 1) * kTileKeys <= position;
  rows.tile.readers = 1;
  rows.tile.row[0] = segment.row(0);
  rows.tile.position[0] = position;
  if (threadIdx.x == 0) {
    make_barriers(memory.tile);
    if (rows.tile.settled) start_tile(memory.tile, in, rows);
  }
  wait_for_predecessor();
  if (threadIdx.x == 0 && !rows.tile.settled) start_tile(memory.tile, in, rows);
  NextCodes<D, TileLoad::Bulk> no_codes;
  complete_tile<D, TileLoad::Bulk>(memory.tile, in, rows, no_codes);
  Queries<D, kRows, kFewThreads, false> queries;
  queries.load(in, rows, 0);
  queries.store(memory.queries.rows);
  __syncthreads();
  const int row_of_lane = (threadIdx.x & 31) / 4;
  attend<D, TileLoad::Bulk>(
      memory.queries.rows, memory.tile, 0, in, rows, 0, WarpShare<D>(rows.count()), [] {},
      [&](int half, const RowSum& sum) {
        if (threadIdx.x < 32 && (threadIdx.x & 3) == 0) partial.sums[row_of_lane + half * 8] = sum;
      },
      [&](int half, int column, float low, float high) {
        *reinterpret_cast<float2*>(&partial.values[row_of_lane + half * 8][column]) = {low, high};
      });
  const auto cluster = cooperative_groups::this_cluster();
  cluster.sync();
  const int threads = (end_tile - first_tile) * kFewThreads;
  for (int i = (tile - first_tile) * kFewThreads + int(threadIdx.x); i < rows.count() * D / 2;
       i += threads) {
    const int row = i / (D / 2), column = i % (D / 2) * 2;
    RowSum sum = no_tiles();
    float low = 0, high = 0;
#pragma unroll 4
    for (int t = first_tile; t < end_tile; ++t) {
      const Partial<D>& of_tile = *cluster.map_shared_rank(&partial, unsigned(t));
      const float2 more = *reinterpret_cast<const float2*>(&of_tile.values[row][column]);
      const MergeFactors factors = merge(sum, of_tile.sums[row]);
      low = merge(low, more.x, factors);
      high = merge(high, more.y, factors);
    }
    const float inverse = __frcp_rn(sum.sum);
    Bf16* to = in.out + std::ptrdiff_t(rows.row(row)) * in.out_stride + rows.head(row) * D;
    write_pair<false>(to, column, D, finished(low, inverse), finished(high, inverse));
  }
  cluster.sync();  // until no other block reads this block's shared memory
}

template <int D, int kBlocks>
void attend(cudaStream_t stream, const AttentionInput& in, int tiles) {
  if constexpr (kBlocks < kMostTiles) {
    if (tiles > kBlocks) return attend<D, 2 * kBlocks>(stream, in, tiles);
  } else {
    static const cudaError_t status = cudaFuncSetAttribute(
        attend_cluster<D, kBlocks>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    check(status, "asking for clusters of 16 blocks");
  }
  allow_shared<attend_cluster<D, kBlocks>>(sizeof(ClusterMemory<D>));
  launch(stream, "attention", attend_cluster<D, kBlocks>,
         {kBlocks, unsigned(in.kv.heads), unsigned(in.batch.segment_count)}, kFewThreads,
         sizeof(ClusterMemory<D>), in);
}

}  // namespace

int cluster_tiles() {
  return kMostTiles;
}
int cluster_group() {
  return kRows;
}

void attend_in_clusters(cudaStream_t stream, const AttentionInput& in, int width, int tiles) {
  if (width == 64) return attend<64, 1>(stream, in, tiles);
  if (width == 128) return attend<128, 1>(stream, in, tiles);
  attend<256, 1>(stream, in, tiles);
}

}  // namespace counterbeam::cuda
