// Attention of segments with few query rows and any context: every tile of keys has a warp, which
// leaves what it made of the tile to a second kernel that merges.
#include "backend/cuda/attention_few.cuh"

namespace counterbeam::cuda {
namespace {

// grid (tiles / warps, key heads x row tiles, segments)
template <int D, bool kGeneral>
__global__ void __launch_bounds__(kFewWarps<D> * 32) attend_parts(AttentionInput in) {
  extern __shared__ __align__(128) char memory[];
  __shared__ std::uint64_t barriers[kFewWarps<D>][2];
  let_successor_start();
  const FewRows few(in, blockIdx.z, int(blockIdx.y) / in.kv.heads, int(blockIdx.y) % in.kv.heads);
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
  const int tile = int(blockIdx.x) * kFewWarps<D> + warp;
  float values[1][D / 8][4];
  RowSum made[1][2];
  attend_tile<D, kGeneral>(values, made, memory + warp * 2 * kTileBytes<D>, barriers[warp], in, few,
                           tile, few.sees(tile));
  if (!few.sees(tile)) return;
  write_partial<D>(values, [&](int half) -> float* {
    const int f = few.first + lane / 4 + half * 8;
    if (f >= few.rows.count()) return nullptr;
    const std::size_t head =
        std::size_t(few.rows.row(f)) * std::size_t(in.heads) + std::size_t(few.rows.head(f));
    const std::size_t at = head * std::size_t(in.partial_tiles) + std::size_t(tile);
    if ((lane & 3) == 0) in.partial_sums[at] = made[0][half];
    return in.partial_values + at * D;
  });
}

constexpr int kMergeWarps = 4;

// A warp to each head of a row; a lane has D / 32 columns.
template <int D, bool kGeneral>
__global__ void __launch_bounds__(kMergeWarps * 32) merge_parts(AttentionInput in) {
  constexpr int kColumns = D / 32;
  struct alignas(kColumns * sizeof(float)) Columns {
    float of[kColumns];
  };
  let_successor_start();
  wait_for_predecessor();
  const int item = int(blockIdx.x) * kMergeWarps + int(threadIdx.x) / 32;
  const int row = item / in.heads, head = item % in.heads, lane = threadIdx.x & 31;
  if (row >= in.batch.rows) return;
  const int position = in.batch.row_position[row];
  if (position < 0) return;
  const int first = in.window > 0 ? max(0, position - in.window + 1) / kTileKeys : 0;
  const std::size_t at = std::size_t(item) * std::size_t(in.partial_tiles);
  const Columns* values = reinterpret_cast<const Columns*>(in.partial_values + at * D) + lane;
  RowSum sum = no_tiles();
  Columns merged{};
#pragma unroll 4
  for (int tile = first; tile <= position / kTileKeys; ++tile) {
    const Columns more = values[tile * 32];
    const MergeFactors factors = merge(sum, in.partial_sums[at + std::size_t(tile)]);
#pragma unroll
    for (int i = 0; i < kColumns; ++i) merged.of[i] = merge(merged.of[i], more.of[i], factors);
  }
  const float inverse = __frcp_rn(sum.sum);
  Bf16* to = in.out + std::ptrdiff_t(row) * in.out_stride + head * in.kv.head_dim;
#pragma unroll
  for (int i = 0; i < kColumns; i += 2) {
    write_pair<kGeneral>(to, lane * kColumns + i, in.kv.head_dim, finished(merged.of[i], inverse),
                         finished(merged.of[i + 1], inverse));
  }
}

template <int D, bool kGeneral>
void attend(cudaStream_t stream, const AttentionInput& in) {
  allow_shared<attend_parts<D, kGeneral>>(kFewBytes<D>);
  const int row_tiles = (in.batch.longest_segment * in.group + kFewRows - 1) / kFewRows;
  const int blocks = (in.partial_tiles + kFewWarps<D> - 1) / kFewWarps<D>;
  launch(stream, "attention", attend_parts<D, kGeneral>,
         {unsigned(blocks), unsigned(in.kv.heads * row_tiles), unsigned(in.batch.segment_count)},
         kFewWarps<D> * 32, kFewBytes<D>, in);
  const int items = in.batch.rows * in.heads;
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
