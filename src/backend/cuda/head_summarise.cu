// First stage of the head: a warp summarises each tile of a job's row, and the same tile of the
// scores the job draws from: the same scores at another temperature, fewer of them, or a mixture of
// rows, which is computed and stored here.
#include "backend/cuda/head_parts.cuh"

namespace counterbeam::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * 32;

__device__ __forceinline__ void mask_from(Tile& tile, int first, int limit) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int part = 0; part < 8; ++part) {
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (first + 128 * part + 4 * lane + j >= limit) tile.x[part][j] = kNever;
  }
}

// The summary of a row's logits at temperature 1; the sum is NaN if one is not finite.
__device__ __forceinline__ TileSum sum_up(const Tile& tile, int first, int vocab) {
  bool bad = false;
  for_each_id(tile, first, vocab, [&](float x, int) { bad |= !isfinite(x); });
  const float top = tile_top(tile), sum = tile_mass(tile, top, 1.0f);
  return {top, __any_sync(kAllLanes, bad) ? nanf("") : sum};
}

// Grid: [tiles / kWarps, rows].
__global__ void __launch_bounds__(kThreads) sum_up_rows(const HeadArguments a) {
  let_successor_start();
  wait_for_predecessor();
  const int index = blockIdx.x * kWarps + threadIdx.x / 32;
  if (index >= a.tiles) return;
  const Tile tile = load_tile(row_logits(a, blockIdx.y), index * kTile, a.vocab);
  const TileSum sum = sum_up(tile, index * kTile, a.vocab);
  if (threadIdx.x % 32 == 0) a.row_sums[std::size_t(blockIdx.y) * a.tiles + index] = sum;
}

// Grid: [rows], one warp each.
__global__ void __launch_bounds__(32) total_rows(const HeadArguments a) {
  let_successor_start();
  wait_for_predecessor();
  const double total = log_sum_exp(a.row_sums + std::size_t(blockIdx.x) * a.tiles, a.tiles);
  if (threadIdx.x == 0) a.totals[blockIdx.x] = total;
}

// By one warp: the smallest plausible logit of `row`, from the largest that may be drawn.
__device__ double plausible_floor(const HeadArguments& a, const DeviceJob& job) {
  const int lane = threadIdx.x % 32, limit = drawable(a, job), whole = limit / kTile;
  const TileSum* sums = a.row_sums + std::size_t(job.row) * a.tiles;
  const float* own = row_logits(a, job.row);
  float top = kNever;
  for (int i = lane; i < whole; i += 32) top = fmaxf(top, sums[i].top);
  for (int id = whole * kTile + lane; id < limit; id += 32) top = fmaxf(top, own[id]);
  top = warp_all(top, [](float x, float y) { return fmaxf(x, y); });
  return double(top) + log(double(job.plausibility));
}

// Replaces the tile of the job's own row by the mixture's scores, and writes them to `to`.
__device__ __forceinline__ void mix(Tile& tile, const HeadArguments& a, const DeviceJob& job,
                                    int first, float* to) {
  const double floor = job.plausibility > 0 ? plausible_floor(a, job) : double(kNever);
  double scores[8][4] = {};
  for (int m = 0; m < job.mixes; ++m) {
    const DeviceMix share = a.mixes[job.first_mix + m];
    const double total = a.totals[share.row];
    const Tile other = load_tile(row_logits(a, share.row), first, a.vocab);
#pragma unroll
    for (int part = 0; part < 8; ++part) {
#pragma unroll
      for (int j = 0; j < 4; ++j)
        scores[part][j] += double(share.weight) * (double(other.x[part][j]) - total);
    }
  }
#pragma unroll
  for (int part = 0; part < 8; ++part) {
#pragma unroll
    for (int j = 0; j < 4; ++j)
      tile.x[part][j] = double(tile.x[part][j]) < floor ? kNever : float(scores[part][j]);
  }
  mask_from(tile, first, drawable(a, job));
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int part = 0; part < 8; ++part) {
    *reinterpret_cast<float4*>(to + first + 128 * part + 4 * lane) =
        make_float4(tile.x[part][0], tile.x[part][1], tile.x[part][2], tile.x[part][3]);
  }
}

// Grid: [tiles / kWarps, jobs].
template <bool kMixed>
__global__ void __launch_bounds__(kThreads) sum_up_jobs(const HeadArguments a) {
  let_successor_start();
  wait_for_predecessor();
  const int index = blockIdx.x * kWarps + threadIdx.x / 32, job_index = blockIdx.y;
  if (index >= a.tiles) return;
  const DeviceJob job = a.jobs[job_index];
  if (job.row < 0) return;
  const int first = index * kTile, limit = drawable(a, job);
  const std::size_t at = std::size_t(job_index) * a.tiles + index;
  const bool leader = threadIdx.x % 32 == 0;

  Tile tile = load_tile(row_logits(a, job.row), first, a.vocab);
  TileSum sum =
      kMixed ? a.row_sums[std::size_t(job.row) * a.tiles + index] : sum_up(tile, first, a.vocab);
  if (leader) a.own[at] = sum;
  if (!draws(job)) return;
  const float inverse_t = inverse_temperature(job);
  const bool mixed = kMixed && job.mixes > 0;
  if (mixed) {
    mix(tile, a, job, first, a.mixed + std::size_t(job_index) * a.tiles * kTile);
  } else if (limit < first + kTile) {
    mask_from(tile, first, limit);
  }
  if (mixed || limit < first + kTile) sum.top = tile_top(tile);
  if (mixed || limit < first + kTile || inverse_t != 1.0f)
    sum.sum = tile_mass(tile, sum.top, inverse_t);
  if (leader) a.drawn[at] = sum;
}

}  // namespace

void head_summarise(cudaStream_t stream, const HeadArguments& a, bool mixed) {
  const unsigned across = unsigned((a.tiles + kWarps - 1) / kWarps);
  const dim3 grid(across, unsigned(a.job_count));
  if (!mixed) {
    launch(stream, "head_summarise", sum_up_jobs<false>, grid, dim3(kThreads), 0, a);
    return;
  }
  launch(stream, "head_summarise", sum_up_rows, dim3(across, unsigned(a.rows)), dim3(kThreads), 0,
         a);
  launch(stream, "head_summarise", total_rows, dim3(unsigned(a.rows)), dim3(32), 0, a);
  launch(stream, "head_summarise", sum_up_jobs<true>, grid, dim3(kThreads), 0, a);
}

}  // namespace counterbeam::cuda
