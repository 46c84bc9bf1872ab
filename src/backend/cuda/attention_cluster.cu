// Attention of segments with few query rows whose context one cluster of blocks holds: every tile
// of keys has a block, and the blocks merge what they made by reading each other's shared memory.
#include <cooperative_groups.h>

#include "backend/cuda/attention_few.cuh"

namespace counterbeam::cuda {
namespace {

constexpr int kMostTiles = 16;  // blocks of a cluster

// What a block made of its tile. Rows are apart by 8 banks.
template <int D>
struct Partial {
  RowSum sums[kFewRows];
  alignas(16) float values[kFewRows][D + 8];
};

// grid (cluster, key heads x row tiles, segments). REQUIRES a block for every tile of any context.
template <int D, int kBlocks>
__global__ void __cluster_dims__(kBlocks, 1, 1) __launch_bounds__(kFewThreads)
    attend_cluster(AttentionInput in) {
  extern __shared__ __align__(128) char memory[];
  FewMemory<D>& tile_memory = *reinterpret_cast<FewMemory<D>*>(memory);
  // In the place of the keys, which are read by then.
  Partial<D>& partial = *reinterpret_cast<Partial<D>*>(tile_memory.keys);
  static_assert(sizeof(Partial<D>) <= sizeof(tile_memory.keys));
  let_successor_start();
  const FewRows few(in, blockIdx.z, int(blockIdx.y) / in.kv.heads, int(blockIdx.y) % in.kv.heads);
  const int tile = blockIdx.x;
  float values[1][D / 32][4];
  attend_tile<D, false>(values, tile_memory, in, few, tile);
  if (!few.sees(tile)) return;
  const int row_of_lane = (threadIdx.x & 31) / 4;
  for (int half = 0; half < 2; ++half) {
    if (row_of_lane + half * 8 < few.count)
      write_partial<D>(partial.values[row_of_lane + half * 8], values, half);
  }
  if (threadIdx.x < few.count)
    partial.sums[threadIdx.x] = row_sum(tile_memory, threadIdx.x, in.scale);
  const auto cluster = cooperative_groups::this_cluster();
  cluster.sync();
  const int threads = (few.end_tile - few.first_tile) * kFewThreads;
  for (int i = (tile - few.first_tile) * kFewThreads + int(threadIdx.x); i < few.count * D / 2;
       i += threads) {
    const int row = i / (D / 2), column = i % (D / 2) * 2, f = few.first + row;
    RowSum sum = no_tiles();
    float low = 0, high = 0;
#pragma unroll 4
    for (int t = few.first_tile; t < few.end_tile; ++t) {
      const Partial<D>& of_tile = *cluster.map_shared_rank(&partial, unsigned(t));
      const float2 more = *reinterpret_cast<const float2*>(&of_tile.values[row][column]);
      const MergeFactors factors = merge(sum, of_tile.sums[row]);
      low = merge(low, more.x, factors);
      high = merge(high, more.y, factors);
    }
    const float inverse = __frcp_rn(sum.sum);
    Bf16* to = in.out + std::ptrdiff_t(few.rows.row(f)) * in.out_stride + few.rows.head(f) * D;
    write_pair<false>(to, column, D, finished(low, inverse), finished(high, inverse));
  }
  cluster.sync();  // nobody reads this block's memory any longer
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
  allow_shared<attend_cluster<D, kBlocks>>(sizeof(FewMemory<D>));
  const int row_tiles = (in.batch.longest_segment * in.group + kFewRows - 1) / kFewRows;
  launch(stream, "attention", attend_cluster<D, kBlocks>,
         {kBlocks, unsigned(in.kv.heads * row_tiles), unsigned(in.batch.segment_count)},
         kFewThreads, sizeof(FewMemory<D>), in);
}

}  // namespace

int cluster_tiles() {
  return kMostTiles;
}

void attend_in_clusters(cudaStream_t stream, const AttentionInput& in, int width, int tiles) {
  if (width == 64) return attend<64, 1>(stream, in, tiles);
  if (width == 128) return attend<128, 1>(stream, in, tiles);
  attend<256, 1>(stream, in, tiles);
}

}  // namespace counterbeam::cuda
