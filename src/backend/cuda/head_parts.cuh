// Shared by the stages of the head. The vocabulary is split into tiles of 1,024 ids. A tile is
// summarised by its largest score and the sum of exponentials relative to it, in float32 and one
// fixed order; tiles are combined in double, also in a fixed order. Jobs are independent of each
// other.
//
//   summarise: per (job, tile), one read of the logits              -> own, drawn
//   filter:    min-p, top-k and top-p, as a cut through the ranking -> cuts, drawn
//   pick:      per job, the tile, then the token                    -> results
#pragma once

#include <cstdint>

#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"

namespace counterbeam::cuda {

constexpr int kTile = 1024;
constexpr int kMaxTiles = 1024;

struct TileSum {
  float top;
  float sum;  // of exp((score - top) / temperature); NaN where a logit is not finite
};

// Which ids the filters keep, as a cut through the ranking by (score, then ascending id): none with
// a score below `bound`; of the others those in a higher bin of the scores from `bound` to `top`,
// and in the same bin those not below `prefix`.
struct Cut {
  float top, bound, scale;
  int bin;  // -1: all from `bound` on are kept
  int shift;
  std::uint64_t prefix;
};

struct HeadArguments {
  const float* logits;  // [rows][stride]
  int rows, stride, vocab, tiles;
  const DeviceJob* jobs;
  int job_count;
  const DeviceMix* mixes;
  DeviceResult* results;
  TileSum* own;       // [jobs][tiles], of the job's row at temperature 1
  TileSum* drawn;     // [jobs][tiles], of the scores that are drawn from
  TileSum* row_sums;  // [rows][tiles], if jobs mix rows
  double* totals;     // [rows], the log of the sum of exponentials; NaN: not finite
  float* mixed;       // [jobs][tiles * kTile], if jobs mix rows: -inf is never drawn
  Cut* cuts;          // [jobs], if jobs filter
};

void head_summarise(cudaStream_t stream, const HeadArguments& arguments, bool mixed);
void head_filter(cudaStream_t stream, const HeadArguments& arguments);
void head_pick(cudaStream_t stream, const HeadArguments& arguments, bool filtered);

#ifdef __CUDACC__

constexpr unsigned kAllLanes = ~0u;
constexpr float kNever = -__builtin_huge_valf();

template <typename T, typename Combine>
__device__ __forceinline__ T warp_all(T x, const Combine& combine) {
#pragma unroll
  for (int other = 16; other > 0; other /= 2) x = combine(x, __shfl_xor_sync(kAllLanes, x, other));
  return x;
}

__device__ __forceinline__ bool draws(const DeviceJob& job) {
  return job.given < 0 && job.follows < 0;
}

__device__ __forceinline__ int drawable(const HeadArguments& a, const DeviceJob& job) {
  return job.vocab_limit > 0 ? min(a.vocab, job.vocab_limit) : a.vocab;
}

__device__ __forceinline__ const float* row_logits(const HeadArguments& a, int row) {
  return a.logits + std::ptrdiff_t(row) * a.stride;
}

// The scores that job `index` draws from; ids from drawable() on must not be read.
__device__ __forceinline__ const float* scores_of(const HeadArguments& a, const DeviceJob& job,
                                                  int index) {
  return job.mixes > 0 ? a.mixed + std::size_t(index) * std::size_t(a.tiles) * kTile
                       : row_logits(a, job.row);
}

// 1 / temperature, bounded so that 0 times it is 0.
__device__ __forceinline__ float inverse_temperature(const DeviceJob& job) {
  const float temperature = job.sampling.temperature;
  return temperature > 0 ? fminf(1.0f / temperature, 3e38f) : 1.0f;
}

// kCount * 128 adjacent ids in the registers of a warp: id first + 128 * part + 4 * lane + j;
// kNever from `limit` on.
template <int kCount>
struct Ids {
  float x[kCount][4];
};
using Tile = Ids<kTile / 128>;

template <int kCount>
__device__ __forceinline__ Ids<kCount> load_ids(const float* scores, int first, int limit) {
  Ids<kCount> ids;
  const int lane = threadIdx.x % 32;
  const bool whole = first + kCount * 128 <= limit;
  const bool aligned = reinterpret_cast<std::uintptr_t>(scores + first) % 16 == 0;
#pragma unroll
  for (int part = 0; part < kCount; ++part) {
    const int id = first + 128 * part + 4 * lane;
    if (whole && aligned) {
      const float4 four = *reinterpret_cast<const float4*>(scores + id);
      ids.x[part][0] = four.x, ids.x[part][1] = four.y;
      ids.x[part][2] = four.z, ids.x[part][3] = four.w;
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) ids.x[part][j] = id + j < limit ? scores[id + j] : kNever;
    }
  }
  return ids;
}

__device__ __forceinline__ Tile load_tile(const float* scores, int first, int limit) {
  return load_ids<kTile / 128>(scores, first, limit);
}

// Visits (score, id) of every element below `limit`.
template <int kCount, typename Visit>
__device__ __forceinline__ void for_each_id(const Ids<kCount>& ids, int first, int limit,
                                            const Visit& visit) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int part = 0; part < kCount; ++part) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int id = first + 128 * part + 4 * lane + j;
      if (id < limit) visit(ids.x[part][j], id);
    }
  }
}

__device__ __forceinline__ float tile_top(const Tile& tile) {
  float top = kNever;
#pragma unroll
  for (int part = 0; part < 8; ++part) {
#pragma unroll
    for (int j = 0; j < 4; ++j) top = fmaxf(top, tile.x[part][j]);
  }
  return warp_all(top, [](float a, float b) { return fmaxf(a, b); });
}

__device__ __forceinline__ float tile_mass(const Tile& tile, float top, float inverse_t) {
  if (top == kNever) return 0;
  float sum = 0;
#pragma unroll
  for (int part = 0; part < 8; ++part) {
#pragma unroll
    for (int j = 0; j < 4; ++j) sum += expf((tile.x[part][j] - top) * inverse_t);
  }
  return warp_all(sum, [](float a, float b) { return a + b; });
}

// By one warp: the log of the sum of exponentials at temperature 1; NaN if a tile is not finite.
__device__ __forceinline__ double log_sum_exp(const TileSum* sums, int tiles) {
  const int lane = threadIdx.x % 32;
  float top = kNever;
  for (int i = lane; i < tiles; i += 32) top = fmaxf(top, sums[i].top);
  top = warp_all(top, [](float a, float b) { return fmaxf(a, b); });
  double total = 0;
  for (int i = lane; i < tiles; i += 32)
    total += double(sums[i].sum) * exp(double(sums[i].top) - double(top));
  total = warp_all(total, [](double a, double b) { return a + b; });
  return double(top) + log(total);
}

// The bin of a score in its range; higher is more likely. Monotone, since rounding is.
__device__ __forceinline__ int bin_of(float score, float top, float scale, int bins) {
  return bins - 1 - min(bins - 1, __float2int_rz((top - score) * scale));
}

constexpr int kBins = 1024, kBinBits = 10;
constexpr int kRankBits = 60;

// A key that orders the ids of a row as the ranking does, without ties: higher is more likely.
__device__ __forceinline__ std::uint64_t rank_of(float score, int id) {
  const unsigned bits = __float_as_uint(score + 0.0f);  // -0 is 0
  const unsigned ordered = bits >> 31 ? ~bits : bits | 0x80000000u;
  return (std::uint64_t(ordered) << 28) | std::uint64_t(0xfffffff - id);
}

__device__ __forceinline__ float score_of_rank(std::uint64_t rank) {
  const unsigned ordered = unsigned(rank >> 28);
  return __uint_as_float(ordered >> 31 ? ordered & 0x7fffffffu : ~ordered);
}

__device__ __forceinline__ bool keeps(const Cut& cut, float score, int id) {
  if (score < cut.bound) return false;
  if (cut.bin < 0) return true;
  const int bin = bin_of(score, cut.top, cut.scale, kBins);
  return bin > cut.bin || (bin == cut.bin && rank_of(score, id) >> cut.shift >= cut.prefix);
}

#endif

}  // namespace counterbeam::cuda
