// Last stage of the head: a thread block per job finds the tile in which the job's uniform number
// falls, then the token, and writes the result. A job that follows another repeats that job's draw,
// which costs less than waiting for it.
#include "backend/cuda/head_block.cuh"

namespace counterbeam::cuda {
namespace {

using PickBlock = Block<8>;

constexpr int kThreads = PickBlock::kThreads;
constexpr int kEach = kTile / kThreads;
constexpr int kMostTiles = kMaxTiles / kThreads;  // per thread

struct Drawn {
  int token;
  float logprob;
};

// What a job draws from.
struct Source {
  const float* scores;
  const TileSum* sums;
  int limit, tiles;
};

__device__ __forceinline__ Source source_of(const HeadArguments& a, const DeviceJob& job,
                                            int index) {
  const int limit = drawable(a, job);
  return {scores_of(a, job, index), a.drawn + std::size_t(index) * a.tiles, limit,
          (limit + kTile - 1) / kTile};
}

__device__ __forceinline__ float score_at(const Source& source, int id) {
  return id < source.limit ? source.scores[id] : kNever;
}

// The log-sum-exp of the job's own row at temperature 1; NaN if the row is not finite.
__device__ double own_total(const HeadArguments& a, int index, PickBlock& block) {
  const TileSum* sums = a.own + std::size_t(index) * a.tiles;
  float top = kNever;
  for (int i = threadIdx.x; i < a.tiles; i += kThreads) top = fmaxf(top, sums[i].top);
  top = block.largest(top);
  double total = 0;
  for (int i = threadIdx.x; i < a.tiles; i += kThreads)
    total += double(sums[i].sum) * exp(double(sums[i].top) - double(top));
  return double(top) + log(block.sum(total));
}

__device__ bool mixes_are_finite(const HeadArguments& a, const DeviceJob& job) {
  bool finite = true;
  for (int m = 0; m < job.mixes; ++m) finite &= !isnan(a.totals[a.mixes[job.first_mix + m].row]);
  return finite;
}

// Whether every row that job `index` uses is finite.
__device__ bool is_finite(const HeadArguments& a, int index) {
  const DeviceJob& job = a.jobs[index];
  if (job.row < 0) return false;
  bool bad = false;
  for (int i = threadIdx.x; i < a.tiles; i += kThreads)
    bad |= isnan(a.own[std::size_t(index) * a.tiles + i].sum);
  return !__syncthreads_or(bad) && mixes_are_finite(a, job);
}

// The lowest id with the largest score.
__device__ int likeliest(const Source& source, float top, PickBlock& block) {
  int tile = source.tiles;
  for (int i = threadIdx.x; i < source.tiles; i += kThreads)
    if (source.sums[i].top == top) tile = min(tile, i);
  tile = block.least(tile);
  int id = source.limit;
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int here = tile * kTile + j * kThreads + int(threadIdx.x);
    if (score_at(source, here) == top) id = min(id, here);
  }
  id = block.least(id);
  return id < source.limit ? id : 0;
}

// Where a number falls in the distribution over tiles: the tile, and the position in it, in units
// of the tile's own sum.
struct Found {
  int tile;
  double into, total;
};

__device__ Found find_tile(const Source& source, const DeviceJob& job, float top,
                           PickBlock& block) {
  __shared__ Found found;
  const int each = (source.tiles + kThreads - 1) / kThreads;
  const int first = threadIdx.x * each, last = min(first + each, source.tiles);
  const auto share = [&](int i) {
    return exp((double(source.sums[i].top) - double(top)) / double(job.sampling.temperature));
  };
  double parts[kMostTiles] = {}, mass = 0;
  int final_tile = -1;
#pragma unroll
  for (int t = 0; t < kMostTiles; ++t) {
    const int i = first + t;
    if (i >= last || !(source.sums[i].sum > 0)) continue;
    parts[t] = double(source.sums[i].sum) * share(i);
    mass += parts[t];
    if (parts[t] > 0) final_tile = i;
  }
  const Scanned<double> scanned = block.scan(mass);
  final_tile = block.largest(final_tile);
  const double target = job.uniform * scanned.total;
  double before = scanned.before, start = 0;
  int tile = source.tiles;
#pragma unroll
  for (int t = 0; t < kMostTiles; ++t) {
    // Rounding may put the target beyond the last tile.
    const bool here = target < before + parts[t] || first + t == final_tile;
    if (tile == source.tiles && parts[t] > 0 && here) {
      tile = first + t;
      start = before;
    }
    before += parts[t];
  }
  const int chosen = block.least(tile);
  if (threadIdx.x == 0) found = {0, 0, scanned.total};
  __syncthreads();
  if (tile == chosen && tile < source.tiles) {
    found.tile = tile;
    found.into = (target - start) / share(tile);
  }
  __syncthreads();
  return found;
}

template <bool kFiltered>
__device__ Drawn draw(const HeadArguments& a, int index, PickBlock& block) {
  const DeviceJob& job = a.jobs[index];
  const Source source = source_of(a, job, index);
  float top = kNever;
  for (int i = threadIdx.x; i < source.tiles; i += kThreads) top = fmaxf(top, source.sums[i].top);
  top = block.largest(top);
  if (job.sampling.temperature == 0) return {likeliest(source, top, block), 0.0f};

  const Found found = find_tile(source, job, top, block);
  const float inverse_t = inverse_temperature(job), tile_top = source.sums[found.tile].top;
  const int first = found.tile * kTile + int(threadIdx.x) * kEach;
  float terms[kEach];
  double mass = 0;
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const float score = score_at(source, first + j);
    terms[j] = score > kNever ? expf((score - tile_top) * inverse_t) : 0.0f;
    if (kFiltered && !keeps(a.cuts[index], score, first + j)) terms[j] = 0;
    mass += double(terms[j]);
  }
  const Scanned<double> scanned = block.scan(mass);
  double passed = scanned.before;
  int token = source.limit, final_token = -1;
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    if (terms[j] == 0) continue;
    passed += double(terms[j]);
    final_token = first + j;
    if (found.into < passed) token = min(token, first + j);
  }
  token = block.least(token);
  final_token = block.largest(final_token);
  if (token >= source.limit) token = max(final_token, 0);
  const double logprob =
      (double(source.scores[token]) - double(top)) / double(job.sampling.temperature) -
      log(found.total);
  return {token, float(logprob)};
}

// Grid: [jobs].
template <bool kFiltered>
__global__ void __launch_bounds__(kThreads) pick_tokens(const HeadArguments a) {
  __shared__ PickBlock block;
  let_successor_start();
  wait_for_predecessor();
  const int index = blockIdx.x;
  const DeviceJob& job = a.jobs[index];
  if (job.row < 0) return;
  const double total = own_total(a, index, block);
  bool finite = !isnan(total) && mixes_are_finite(a, job);
  int drawer = index;  // the job whose token this job scores
  while (finite && a.jobs[drawer].follows >= 0 && a.jobs[drawer].follows < drawer) {
    drawer = a.jobs[drawer].follows;
    finite = is_finite(a, drawer);
  }
  if (!finite) {
    if (threadIdx.x == 0) a.results[index] = {-1, 0, 0, 0};
    return;
  }
  const int given = a.jobs[drawer].given;
  const Drawn drawn = given >= 0 ? Drawn{given, 0.0f} : draw<kFiltered>(a, drawer, block);
  if (threadIdx.x > 0) return;
  const float logprob = float(double(row_logits(a, job.row)[drawn.token]) - total);
  a.results[index] = {drawn.token, logprob, draws(job) ? drawn.logprob : logprob, 1};
}

}  // namespace

void head_pick(cudaStream_t stream, const HeadArguments& a, bool filtered) {
  launch(stream, "head_pick", filtered ? pick_tokens<true> : pick_tokens<false>,
         dim3(unsigned(a.job_count)), dim3(kThreads), 0, a);
}

}  // namespace counterbeam::cuda
