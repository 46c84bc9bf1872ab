// Middle stage of the head, for jobs with filters (min-p, top-k, top-p): finds the exact cut
// through the ranking by (score, then ascending id) without sorting the vocabulary, and summarises
// the tiles again over the kept ids. min-p is a lower limit on scores; the cuts of top-k and top-p
// are searched for among the scores that reach it. A cluster of thread blocks takes a job. It
// builds a histogram of the scores and descends into the bin in which the goal is reached: first by
// score, then digit by digit of the rank (radix select); as soon as a bin holds few enough ids,
// they are sorted.
#include "backend/cuda/head_bins.cuh"

namespace counterbeam::cuda {
namespace {

constexpr int kThreads = FilterBlock::kThreads;
constexpr int kWarps = kThreads / 32;
constexpr int kFew = kThreads;  // one per thread
// Few loads per iteration: fetching longer code costs more than more loads in flight would save.
constexpr int kLoads = 2, kUnit = kLoads * 128;

struct Shared {
  Bins bins;
  float tops[kMaxTiles];
  std::uint64_t list[kFew], masses[kFew];  // of a bin with few scores: ranks, sorted masses
  unsigned listed;
  int place;
  std::uint64_t kept, prefix;
  float bound;
  FilterBlock block;
};

// A job's scores. min-p drops those below `floor`. Those below `bound` (>= floor) cannot be kept
// and are skipped.
struct Search {
  const float* scores;
  int limit, tiles, part;
  float top, inverse_t, floor, bound, scale;
  // Keeps everything that min-p keeps.
  __device__ Cut whole() const { return {top, floor, scale, -1, kRankBits, 0}; }
};

// The goal: the shortest prefix of the ranking that holds this many ids, or this much mass.
struct Goal {
  bool by_mass;
  std::uint64_t amount;
};

// Visits (score, id) of this warp's share of the ids in tiles that reach bin `from`.
template <typename Visit>
__device__ __forceinline__ void for_each_candidate(const Search& s, const Shared& shared, int from,
                                                   const Visit& visit) {
#pragma unroll 1
  for (int i = s.part * kWarps + int(threadIdx.x / 32); i * kUnit < s.limit; i += kParts * kWarps) {
    const float top = shared.tops[i * kUnit / kTile];
    if (top < s.bound || bin_of(top, s.top, s.scale, kBins) < from) continue;
    const auto ids = load_ids<kLoads>(s.scores, i * kUnit, s.limit);
    for_each_id(ids, i * kUnit, s.limit, [&](float score, int id) {
      if (score > kNever && score >= s.bound) visit(score, id);
    });
  }
}

// Whether a score is in the bin that `cut` has descended to.
__device__ __forceinline__ bool follows(const Cut& cut, float score, int id) {
  if (bin_of(score, cut.top, cut.scale, kBins) != cut.bin) return false;
  return cut.shift == kRankBits || rank_of(score, id) >> cut.shift == cut.prefix;
}

// Counts the scores in the bin of `cut` by their next digit.
__device__ __noinline__ void count_digit(const Search& s, const Cut& cut, bool weigh,
                                         Shared& shared) {
  if (threadIdx.x == 0) shared.listed = 0;
  shared.bins.clear();
  for_each_candidate(s, shared, cut.bin, [&](float score, int id) {
    int digit;
    if (cut.bin < 0) {
      digit = bin_of(score, cut.top, cut.scale, kBins);
    } else {
      if (!follows(cut, score, id)) return;
      digit = int(rank_of(score, id) >> (cut.shift - kBinBits)) & (kBins - 1);
    }
    if (weigh) {
      shared.bins.add(digit, mass_of(score, s.top, s.inverse_t));
    } else {
      shared.bins.add(digit);
    }
  });
  shared.bins.share_out(s.part);
}

// Sorts the few scores in the bin of `cut` and ends it at the one that reaches `goal`. Returns the
// mass of the kept ones among them.
__device__ __noinline__ std::uint64_t end_among_few(const Search& s, Cut& cut, const Goal& goal,
                                                    int count, Shared& shared) {
  const auto cluster = groups::this_cluster();
  unsigned* listed = cluster.map_shared_rank(&shared.listed, 0);
  std::uint64_t* list = cluster.map_shared_rank(&shared.list[0], 0);
  for_each_candidate(s, shared, cut.bin, [&](float score, int id) {
    if (follows(cut, score, id)) list[atomicAdd(listed, 1u)] = rank_of(score, id);
  });
  cluster.sync();
  const int i = threadIdx.x;
  const std::uint64_t mine = i < count ? list[i] : 0;
  cluster.sync();
  shared.list[i] = mine;
  shared.masses[i] = 0;
  if (i == 0) shared.place = shared.kept = 0;
  __syncthreads();
  int place = 0;
  for (int other = 0; other < count; ++other) place += shared.list[other] > mine;
  if (i < count) shared.masses[place] = mass_of(score_of_rank(mine), s.top, s.inverse_t);
  __syncthreads();
  const std::uint64_t mass = shared.masses[i], before = shared.block.scan(mass).before;
  const bool last = goal.by_mass ? before < goal.amount && goal.amount <= before + mass
                                 : std::uint64_t(i) + 1 == goal.amount;
  if (last) {
    shared.place = i;
    shared.kept = before + mass;
  }
  __syncthreads();
  if (i < count && place == shared.place) shared.prefix = mine;
  __syncthreads();
  cut.shift = 0;
  cut.prefix = shared.prefix;
  return shared.kept;
}

// The cut that reaches `goal`, or whole() if all scores from the bound on do not reach it; `mass`
// becomes the mass it keeps.
__device__ __noinline__ Cut select(const Search& s, Goal goal, bool weigh, Shared& shared,
                                   std::uint64_t& mass) {
  Cut cut = s.whole();
  cut.bound = s.bound;
  std::uint64_t above = 0;
  while (true) {
    count_digit(s, cut, weigh, shared);
    std::uint64_t all;
    const Bins::Choice chosen = shared.bins.choose(goal.by_mass, goal.amount, shared.block, all);
    if (chosen.bin < 0) {
      mass = all;
      return s.whole();
    }
    if (cut.bin < 0) {
      cut.bin = chosen.bin;
    } else {
      cut.shift -= kBinBits;
      cut.prefix = (cut.prefix << kBinBits) | std::uint64_t(chosen.bin);
    }
    above += chosen.mass_above;
    goal.amount -= goal.by_mass ? chosen.mass_above : chosen.count_above;
    mass = above + chosen.mass;
    const bool all_of_it = !goal.by_mass && goal.amount == chosen.count;
    if (chosen.count == 1 || all_of_it || cut.shift == 0) return cut;
    if (chosen.count <= kFew) {
      mass = above + end_among_few(s, cut, goal, int(chosen.count), shared);
      return cut;
    }
  }
}

// A lower bound on all kept scores, not below min-p's. Top-k: at least k tiles have a score that
// reaches it. Top-p alone: all scores below it together have less mass than may be dropped. Top-p
// after min-p: min-p's own, since the mass of all that min-p keeps is needed.
__device__ float lower_bound(const Sampling& sampling, const Search& s, double total, bool by_count,
                             Shared& shared) {
  if (!by_count) {
    if (sampling.min_p > 0) return s.floor;
    const double rest = (1.0 - double(sampling.top_p)) * total / double(s.limit);
    return fminf(s.top, float(double(s.top) + double(sampling.temperature) * (log(rest) - 0.01)));
  }
  if (threadIdx.x == 0) shared.bound = kNever;
  __syncthreads();
  for (int i = threadIdx.x; i < s.tiles; i += kThreads) {
    const float mine = shared.tops[i];
    int better = 0;
    for (int other = 0; other < s.tiles; ++other) {
      const float top = shared.tops[other];
      better += top > mine || (top == mine && other < i);
    }
    if (better == sampling.top_k - 1) shared.bound = mine;
  }
  __syncthreads();
  return fmaxf(s.floor, shared.bound);
}

__device__ Cut make_cut(const Sampling& sampling, Search& s, double total, bool by_count,
                        Shared& shared) {
  const auto [temperature, top_p, top_k, min_p] = sampling;
  const bool by_mass = top_p < 1.0f;
  s.bound = lower_bound(sampling, s, total, by_count, shared);
  const float range = isfinite(s.bound) ? s.top - s.bound : 24.0f * temperature;
  s.scale = range > 0 ? fminf(float(kBins - 1) / range, 1e30f) : 0.0f;
  std::uint64_t mass = std::uint64_t(total * double(kMassUnit));
  Cut cut = s.whole();
  if (by_count) {
    cut = select(s, {false, std::uint64_t(top_k)}, by_mass, shared, mass);
  } else if (by_mass && min_p > 0) {
    cut = select(s, {false, std::uint64_t(s.limit)}, true, shared, mass);  // all, to get the mass
  }
  if (!by_mass) return cut;
  const auto wanted = std::uint64_t(ceil(double(top_p) * double(mass)));
  const Cut nucleus = select(s, {true, wanted > 0 ? wanted : 1}, true, shared, mass);
  // If rounding makes the mass unreachable, top-p drops nothing.
  return nucleus.bin < 0 ? cut : nucleus;
}

// Sets up the search from a job's tiles; returns their total at its temperature.
__device__ double begin(Search& s, const TileSum* sums, const DeviceJob& job, Shared& shared) {
  for (int i = threadIdx.x; i < s.tiles; i += kThreads) {
    shared.tops[i] = sums[i].top;
    s.top = fmaxf(s.top, sums[i].top);
  }
  s.top = shared.block.largest(s.top);
  // Rounded up to float32, it keeps the same float32 scores as the exact floor does.
  if (job.sampling.min_p > 0) s.floor = __double2float_ru(double(s.top) - job.min_p_reach);
  double total = 0;
  for (int i = threadIdx.x; i < s.tiles; i += kThreads) {
    if (sums[i].sum > 0)
      total += double(sums[i].sum) *
               exp((double(sums[i].top) - double(s.top)) / double(job.sampling.temperature));
  }
  return shared.block.sum(total);
}

// By one warp: the sum of tile `i` over the ids that `cut` keeps.
__device__ void sum_up_again(const Search& s, const Cut& cut, TileSum& sum, int i,
                             const Shared& shared) {
  const float top = shared.tops[i];
  float mass = 0;
  if (top >= s.bound && bin_of(top, s.top, s.scale, kBins) >= cut.bin) {
#pragma unroll 1
    for (int first = i * kTile; first < (i + 1) * kTile; first += kUnit) {
      const auto ids = load_ids<kLoads>(s.scores, first, s.limit);
      for_each_id(ids, first, s.limit, [&](float score, int id) {
        if (score > kNever && keeps(cut, score, id)) mass += expf((score - top) * s.inverse_t);
      });
    }
  }
  mass = warp_all(mass, [](float x, float y) { return x + y; });
  if (threadIdx.x % 32 == 0) sum.sum = mass;
}

// Grid: [kParts, jobs].
__global__ void __cluster_dims__(kParts, 1, 1) __launch_bounds__(kThreads, 2)
    cut_rankings(const HeadArguments a) {
  __shared__ Shared shared;
  let_successor_start();
  wait_for_predecessor();
  const int index = blockIdx.y;
  const DeviceJob& job = a.jobs[index];
  const auto [temperature, top_p, top_k, min_p] = job.sampling;
  const bool by_count = top_k > 0 && top_k < a.vocab;
  const bool filtered =
      job.row >= 0 && draws(job) && temperature > 0 && (by_count || top_p < 1.0f || min_p > 0.0f);
  const bool writes = blockIdx.x == 0 && threadIdx.x == 0;
  if (!filtered) {
    if (writes) a.cuts[index] = {0, kNever, 0, -1, kRankBits, 0};
    return;
  }
  TileSum* sums = a.drawn + std::size_t(index) * a.tiles;
  const int limit = drawable(a, job), tiles = (limit + kTile - 1) / kTile;
  Search s{scores_of(a, job, index),
           limit,
           tiles,
           int(blockIdx.x),
           kNever,
           inverse_temperature(job),
           kNever,
           kNever,
           0};
  const double total = begin(s, sums, job, shared);
  groups::this_cluster().sync();
  const Cut cut = make_cut(job.sampling, s, total, by_count, shared);
  if (writes) a.cuts[index] = cut;

  for (int i = s.part * kWarps + int(threadIdx.x / 32); i < tiles; i += kParts * kWarps)
    sum_up_again(s, cut, sums[i], i, shared);
}

}  // namespace

void head_filter(cudaStream_t stream, const HeadArguments& a) {
  launch(stream, "head_filter", cut_rankings, dim3(kParts, unsigned(a.job_count)), dim3(kThreads),
         0, a);
}

}  // namespace counterbeam::cuda
