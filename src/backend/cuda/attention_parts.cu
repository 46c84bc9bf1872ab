// Attention of segments with few query rows and any context: every tile of keys has a block, which
// leaves what it made of the tile to a second kernel that merges.
#include "backend/cuda/attention_few.cuh"

namespace counterbeam::cuda {
namespace {

// grid (tiles, key heads x row tiles, segments)
template <int D, bool kGeneral>
__global__ void __launch_bounds__(kFewThreads) attend_parts(AttentionInput in) {
  extern __shared__ __align__(128) char memory[];
  FewMemory<D>& tile_memory = *reinterpret_cast<FewMemory<D>*>(memory);
  let_successor_start();
  const FewRows few(in, blockIdx.z, int(blockIdx.y) / in.kv.heads, int(blockIdx.y) % in.kv.heads);
  const int tile = blockIdx.x;
  float values[1][D / 32][4];
  attend_tile<D, kGeneral>(values, tile_memory, in, few, tile);
  if (!few.sees(tile)) return;
  const auto place = [&](int row) {
    const int f = few.first + row;
    const std::size_t head =
        std::size_t(few.rows.row(f)) * std::size_t(in.heads) + std::size_t(few.rows.head(f));
    return head * std::size_t(in.partial_tiles) + std::size_t(tile);
  };
  for (int half = 0; half < 2; ++half) {
    const int row = int(threadIdx.x & 31) / 4 + half * 8;
    if (row < few.count) write_partial<D>(in.partial_values + place(row) * D, values, half);
  }
  const int row = threadIdx.x;
  if (row < few.count) in.partial_sums[place(row)] = row_sum(tile_memory, row, in.scale);
}

constexpr int kMergeWarps = 4, kMergeLoads = 16;

// The factors of up to 32 tiles at once, a tile to a lane; `top` is the row's largest score so far.
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

// A warp to 64 columns of a head, a lane to two.
template <int D, bool kGeneral>
__global__ void __launch_bounds__(kMergeWarps * 32) merge_parts(AttentionInput in) {
  let_successor_start();
  wait_for_predecessor();
  const int item = int(blockIdx.x) * kMergeWarps + int(threadIdx.x) / 32;
  const int head = item / (D / 64) % in.heads, row = item / (D / 64) / in.heads;
  if (row >= in.batch.rows) return;
  const int position = in.batch.row_position[row];
  if (position < 0) return;
  const int lane = threadIdx.x & 31, column = item % (D / 64) * 64 + lane * 2;
  const int first = in.window > 0 ? max(0, position - in.window + 1) / kTileKeys : 0;
  const int end = position / kTileKeys + 1;
  const std::size_t at = (std::size_t(row) * std::size_t(in.heads) + std::size_t(head)) *
                         std::size_t(in.partial_tiles);
  const float* values = in.partial_values + at * D + column;
  float top = -INFINITY, sum = 0, low = 0, high = 0;
  for (int chunk = first; chunk < end; chunk += 32) {
    // Beyond the last tile there is nothing to see, which changes nothing.
    const RowSum own =
        chunk + lane < end ? in.partial_sums[at + std::size_t(chunk + lane)] : no_tiles();
    const MergeFactors own_factors = lane_factors(top, own.top);
    for (int some = 0; some < min(32, end - chunk); some += kMergeLoads) {
      float2 more[kMergeLoads];
#pragma unroll
      for (int i = 0; i < kMergeLoads; ++i) {
        const int tile = chunk + some + i;
        more[i] = tile < end ? *reinterpret_cast<const float2*>(values + std::size_t(tile) * D)
                             : float2{0, 0};
      }
#pragma unroll
      for (int i = 0; i < kMergeLoads; ++i) {
        const MergeFactors factors{__shfl_sync(~0u, own_factors.kept, some + i),
                                   __shfl_sync(~0u, own_factors.added, some + i)};
        sum = merge(sum, __shfl_sync(~0u, own.sum, some + i), factors);
        low = merge(low, more[i].x, factors);
        high = merge(high, more[i].y, factors);
      }
    }
  }
  const float inverse = __frcp_rn(sum);
  Bf16* to = in.out + std::ptrdiff_t(row) * in.out_stride + head * in.kv.head_dim;
  write_pair<kGeneral>(to, column, in.kv.head_dim, finished(low, inverse), finished(high, inverse));
}

template <int D, bool kGeneral>
void attend(cudaStream_t stream, const AttentionInput& in) {
  allow_shared<attend_parts<D, kGeneral>>(sizeof(FewMemory<D>));
  const int row_tiles = (in.batch.longest_segment * in.group + kFewRows - 1) / kFewRows;
  launch(stream, "attention", attend_parts<D, kGeneral>,
         {unsigned(in.partial_tiles), unsigned(in.kv.heads * row_tiles),
          unsigned(in.batch.segment_count)},
         kFewThreads, sizeof(FewMemory<D>), in);
  const int items = in.batch.rows * in.heads * (D / 64);
  launch(stream, "merging attention", merge_parts<D, kGeneral>,
         unsigned((items + kMergeWarps - 1) / kMergeWarps), kMergeWarps * 32, 0, in);
}

}  // namespace

void attend_in_parts(cudaStream_t stream, const AttentionInput& in, int width, bool general) {
  if (width == 64) return general ? attend<64, true>(stream, in) : attend<64, false>(stream, in);
  if (width == 128) return general ? attend<128, true>(stream, in) : attend<128, false>(stream, in);
  return general ? attend<256, true>(stream, in) : attend<256, false>(stream, in);
}

}  // namespace counterbeam::cuda
