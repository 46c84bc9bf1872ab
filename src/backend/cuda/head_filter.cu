// Middle stage of the head, for jobs with top-k or top-p: finds the cut through the ranking by
// (score, then rising id), exactly and without sorting, and sums the tiles up again over what is
// left. A cluster of thread blocks shares a job: digit by digit of a score's place in the ranking,
// each counts its tiles into bins of shared memory and reads the others' bins. Masses are integers
// (2^42 for the likeliest), so that the order of additions does not matter.
#include <cooperative_groups.h>

#include "backend/cuda/head_block.cuh"

namespace counterbeam::cuda {
namespace {

namespace groups = cooperative_groups;

constexpr int kParts = 8;  // thread blocks of a cluster
constexpr int kMaxTiles = 1024;
constexpr int kEach = kBins / kBlockThreads;
constexpr double kUnit = 4398046511104.0;  // 2^42

// Masses as two words, since 64-bit additions to shared memory are slow.
struct alignas(16) Bins {
  unsigned counts[kBins], low[kBins], high[kBins];
};

struct Shared {
  Bins bins;
  float tops[kMaxTiles];
  BlockScratch scratch;
  float bound;
  struct {
    int bin;  // -1: the wanted amount is more than there is
    std::uint64_t count, mass, count_above, mass_above;
  } chosen;
};

// A job's scores, of which those below `bound` are not worth looking at.
struct Search {
  const float* scores;
  int limit, tiles, part;
  float top, inverse_t, bound;
};

// The shortest beginning of the ranking that holds so many ids, or so much mass.
struct Goal {
  bool by_mass;
  std::uint64_t amount;
};

template <typename Visit>
__device__ __forceinline__ void for_each_candidate(const Search& s, const Shared& shared,
                                                   const Visit& visit) {
  for (int i = s.part * kBlockWarps + int(threadIdx.x / 32); i < s.tiles;
       i += kParts * kBlockWarps) {
    if (shared.tops[i] < s.bound) continue;
    Tile tile = load_tile(s.scores, i * kTile, s.limit);
    for_each_id(tile, i * kTile, s.limit, [&](float score, int id) {
      if (score > kNever && score >= s.bound) visit(score, id);
    });
  }
}

__device__ __forceinline__ void add(Bins& bins, int bin, float term) {
  const std::uint64_t mass = std::uint64_t(double(term) * kUnit);
  const unsigned low = unsigned(mass);
  atomicAdd(&bins.counts[bin], 1u);
  const unsigned before = atomicAdd(&bins.low[bin], low);
  const unsigned high = unsigned(mass >> 32) + (before + low < before ? 1u : 0u);
  if (high > 0) atomicAdd(&bins.high[bin], high);
}

// Counts what agrees with `cut` so far by the next digit: the bin of the score's range first
// (shift kRankBits, bin -1), then kBinBits of its rank at a time.
__device__ void count_digit(const Search& s, const Cut& cut, Shared& shared) {
  for (int i = threadIdx.x; i < kBins; i += kBlockThreads)
    shared.bins.counts[i] = shared.bins.low[i] = shared.bins.high[i] = 0;
  __syncthreads();
  for_each_candidate(s, shared, [&](float score, int id) {
    int digit = bin_of(score, cut.top, cut.scale, kBins);
    if (cut.bin >= 0) {
      if (digit != cut.bin) return;
      const std::uint64_t rank = rank_of(score, id);
      if (cut.shift < kRankBits && rank >> cut.shift != cut.prefix) return;
      digit = int(rank >> (cut.shift - kBinBits)) & (kBins - 1);
    }
    add(shared.bins, digit, expf((score - s.top) * s.inverse_t));
  });
}

// From the bins of the whole cluster: the bin, from the top down, in which `goal` is reached.
__device__ void choose_bin(const Goal& goal, Shared& shared, std::uint64_t& all_mass) {
  const auto cluster = groups::this_cluster();
  cluster.sync();
  std::uint64_t counts[kEach] = {}, masses[kEach] = {}, count = 0, mass = 0;
  const int first = kBins - kEach - int(threadIdx.x) * kEach;
  for (int part = 0; part < kParts; ++part) {
    const Bins* bins = cluster.map_shared_rank(&shared.bins, part);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      counts[i] += bins->counts[first + i];
      masses[i] += (std::uint64_t(bins->high[first + i]) << 32) + bins->low[first + i];
    }
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) count += counts[i], mass += masses[i];
  const auto below_count = block_scan(count, shared.scratch.words);
  const auto below_mass = block_scan(mass, shared.scratch.words);
  if (threadIdx.x == 0) shared.chosen.bin = -1;
  __syncthreads();
  std::uint64_t count_above = below_count.before, mass_above = below_mass.before;
#pragma unroll
  for (int i = kEach - 1; i >= 0; --i) {
    const std::uint64_t above = goal.by_mass ? mass_above : count_above;
    const std::uint64_t here = goal.by_mass ? masses[i] : counts[i];
    if (above < goal.amount && goal.amount <= above + here)
      shared.chosen = {first + i, counts[i], masses[i], count_above, mass_above};
    count_above += counts[i];
    mass_above += masses[i];
  }
  all_mass = below_mass.total;
  cluster.sync();  // nobody reads these bins any more
}

// Narrows to the cut that reaches `goal`; `mass` is that of what it keeps.
__device__ Cut select(const Search& s, Goal goal, float scale, Shared& shared,
                      std::uint64_t& mass) {
  Cut cut{s.top, s.bound, scale, -1, kRankBits, 0};
  std::uint64_t kept = 0;
  while (true) {
    count_digit(s, cut, shared);
    std::uint64_t all_mass;
    choose_bin(goal, shared, all_mass);
    const auto chosen = shared.chosen;
    if (chosen.bin < 0) {
      mass = all_mass;
      return cut;
    }
    if (cut.bin < 0) {
      cut.bin = chosen.bin;
    } else {
      cut.shift -= kBinBits;
      cut.prefix = (cut.prefix << kBinBits) | std::uint64_t(chosen.bin);
    }
    kept += chosen.mass_above;
    goal.amount -= goal.by_mass ? chosen.mass_above : chosen.count_above;
    mass = kept + chosen.mass;
    const bool all_of_it = !goal.by_mass && goal.amount == chosen.count;
    if (chosen.count == 1 || all_of_it || cut.shift == 0) return cut;
  }
}

// A score that everything kept reaches. Top-k: as many tiles as are to be kept reach it. Top-p: the
// rest, all of it together, has less mass than may be left out.
__device__ float lower_bound(const DeviceJob& job, const Search& s, double total, bool by_count,
                             Shared& shared) {
  if (!by_count) {
    const double rest = (1.0 - double(job.top_p)) * total / double(s.limit);
    return fminf(s.top, float(double(s.top) + double(job.temperature) * (log(rest) - 0.01)));
  }
  if (threadIdx.x == 0) shared.bound = kNever;
  __syncthreads();
  for (int i = threadIdx.x; i < s.tiles; i += kBlockThreads) {
    const float mine = shared.tops[i];
    int better = 0;
    for (int other = 0; other < s.tiles; ++other) {
      const float top = shared.tops[other];
      better += top > mine || (top == mine && other < i);
    }
    if (better == job.top_k - 1) shared.bound = mine;
  }
  __syncthreads();
  return shared.bound;
}

__device__ Cut make_cut(const DeviceJob& job, Search& s, double total, bool by_count,
                        Shared& shared) {
  s.bound = lower_bound(job, s, total, by_count, shared);
  const float range = isfinite(s.bound) ? s.top - s.bound : 24.0f * job.temperature;
  const float scale = range > 0 ? fminf(float(kBins - 1) / range, 1e30f) : 0.0f;
  std::uint64_t mass = std::uint64_t(total * kUnit);
  Cut cut{s.top, s.bound, scale, -1, kRankBits, 0};
  if (by_count) cut = select(s, {false, std::uint64_t(job.top_k)}, scale, shared, mass);
  if (job.top_p >= 1.0f) return cut;
  const auto wanted = std::uint64_t(ceil(double(job.top_p) * double(mass)));
  // Where rounding leaves the mass out of reach, top-p takes nothing away.
  const Cut nucleus = select(s, {true, wanted > 0 ? wanted : 1}, scale, shared, mass);
  return nucleus.bin < 0 ? cut : nucleus;
}

// Grid: [kParts, jobs].
__global__ void __cluster_dims__(kParts, 1, 1) __launch_bounds__(kBlockThreads)
    cut_rankings(const HeadArguments a) {
  __shared__ Shared shared;
  let_successor_start();
  wait_for_predecessor();
  const int index = blockIdx.y;
  const DeviceJob& job = a.jobs[index];
  const bool by_count = job.top_k > 0 && job.top_k < a.vocab;
  const bool filters =
      job.row >= 0 && draws(job) && job.temperature > 0 && (by_count || job.top_p < 1.0f);
  const bool writes = blockIdx.x == 0 && threadIdx.x == 0;
  if (!filters) {
    if (writes) a.cuts[index] = {0, 0, 0, -1, kRankBits, 0};
    return;
  }
  TileSum* sums = a.drawn + std::size_t(index) * a.tiles;
  const int limit = drawable(a, job), tiles = (limit + kTile - 1) / kTile;
  float top = kNever;
  for (int i = threadIdx.x; i < tiles; i += kBlockThreads) {
    shared.tops[i] = sums[i].top;
    top = fmaxf(top, sums[i].top);
  }
  top = block_max(top, shared.scratch);
  double total = 0;
  for (int i = threadIdx.x; i < tiles; i += kBlockThreads) {
    if (sums[i].sum > 0)
      total +=
          double(sums[i].sum) * exp((double(sums[i].top) - double(top)) / double(job.temperature));
  }
  total = block_scan(total, shared.scratch.doubles).total;
  Search s{scores_of(a, job, index), limit, tiles, int(blockIdx.x), top,
           inverse_temperature(job), kNever};
  groups::this_cluster().sync();
  const Cut cut = make_cut(job, s, total, by_count, shared);
  if (writes) a.cuts[index] = cut;

  for (int i = s.part * kBlockWarps + int(threadIdx.x / 32); i < tiles; i += kParts * kBlockWarps) {
    float mass = 0;
    if (shared.tops[i] >= s.bound) {
      Tile tile = load_tile(s.scores, i * kTile, limit);
      for_each_id(tile, i * kTile, limit, [&](float score, int id) {
        if (score > kNever && keeps(cut, score, id))
          mass += expf((score - shared.tops[i]) * s.inverse_t);
      });
    }
    mass = warp_all(mass, [](float x, float y) { return x + y; });
    if (threadIdx.x % 32 == 0) sums[i].sum = mass;
  }
}

}  // namespace

void head_filter(cudaStream_t stream, const HeadArguments& a) {
  launch(stream, "head_filter", cut_rankings, dim3(kParts, unsigned(a.job_count)),
         dim3(kBlockThreads), 0, a);
}

}  // namespace counterbeam::cuda
