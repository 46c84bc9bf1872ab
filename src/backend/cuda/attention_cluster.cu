// Attention of segments with few query rows whose context one cluster of blocks holds: every tile
// of keys has a warp, and the blocks merge what they made by reading each other's shared memory.
#include <cooperative_groups.h>

#include "backend/cuda/attention_few.cuh"

namespace counterbeam::cuda {
namespace {

constexpr int kMostBlocks = 16;  // of a cluster

// Rows of partial values in shared memory are apart by 8 banks.
template <int D>
constexpr int kValueStride = D + 8;

// grid (cluster, key heads x row tiles, segments). REQUIRES the cluster's warps to be enough for
// the tiles of any context.
template <int D, int kBlocks>
__global__ void __cluster_dims__(kBlocks, 1, 1) __launch_bounds__(kFewWarps<D> * 32)
    attend_cluster(AttentionInput in) {
  constexpr int kWarps = kFewWarps<D>;
  extern __shared__ __align__(128) char memory[];
  __shared__ std::uint64_t barriers[kWarps][2];
  __shared__ RowSum sums[kWarps][kFewRows];
  let_successor_start();
  const FewRows few(in, blockIdx.z, int(blockIdx.y) / in.kv.heads, int(blockIdx.y) % in.kv.heads);
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
  const int tile = int(blockIdx.x) * kWarps + warp;
  char* own = memory + warp * 2 * kTileBytes<D>;
  float values[1][D / 8][4];
  RowSum made[1][2];
  attend_tile<D, false>(values, made, own, barriers[warp], in, few, tile, few.sees(tile));
  const int first_block = few.first_tile / kWarps, end_block = (few.end_tile - 1) / kWarps + 1;
  if (few.count <= 0 || int(blockIdx.x) < first_block || int(blockIdx.x) >= end_block) return;
  if (few.sees(tile)) {
    __syncwarp();  // the keys are read, their place takes the result
    write_partial<D>(values, [&](int half) {
      const int row = lane / 4 + half * 8;
      if ((lane & 3) == 0) sums[warp][row] = made[0][half];
      return row < few.count ? reinterpret_cast<float*>(own) + row * kValueStride<D> : nullptr;
    });
  }
  const auto cluster = cooperative_groups::this_cluster();
  cluster.sync();
  const int threads = (end_block - first_block) * int(blockDim.x);
  for (int i = (int(blockIdx.x) - first_block) * int(blockDim.x) + int(threadIdx.x);
       i < few.count * D / 2; i += threads) {
    const int row = i / (D / 2), column = i % (D / 2) * 2, f = few.first + row;
    RowSum sum = no_tiles();
    float low = 0, high = 0;
#pragma unroll 4
    for (int t = few.first_tile; t < few.end_tile; ++t) {
      char* of_tile = memory + t % kWarps * 2 * kTileBytes<D>;
      const float2 more =
          *reinterpret_cast<const float2*>(cluster.map_shared_rank(of_tile, unsigned(t / kWarps)) +
                                           (row * kValueStride<D> + column) * sizeof(float));
      const MergeFactors factors =
          merge(sum, *cluster.map_shared_rank(&sums[t % kWarps][row], unsigned(t / kWarps)));
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
  if constexpr (kBlocks < kMostBlocks) {
    if (tiles > kBlocks * kFewWarps<D>) return attend<D, 2 * kBlocks>(stream, in, tiles);
  } else {
    static const cudaError_t status = cudaFuncSetAttribute(
        attend_cluster<D, kBlocks>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    check(status, "asking for clusters of 16 blocks");
  }
  allow_shared<attend_cluster<D, kBlocks>>(kFewBytes<D>);
  const int row_tiles = (in.batch.longest_segment * in.group + kFewRows - 1) / kFewRows;
  launch(stream, "attention", attend_cluster<D, kBlocks>,
         {kBlocks, unsigned(in.kv.heads * row_tiles), unsigned(in.batch.segment_count)},
         kFewWarps<D> * 32, kFewBytes<D>, in);
}

}  // namespace

int cluster_tiles(int width) {
  return kMostBlocks * 256 / width;
}

void attend_in_clusters(cudaStream_t stream, const AttentionInput& in, int width, int tiles) {
  if (width == 64) return attend<64, 1>(stream, in, tiles);
  if (width == 128) return attend<128, 1>(stream, in, tiles);
  attend<256, 1>(stream, in, tiles);
}

}  // namespace counterbeam::cuda
