// Last stage of the head: a thread block per job finds the tile in which the job's uniform number
// falls, then the token, and writes the result. A job that follows another makes that job's draw
// once more, which costs less than waiting for it.
#include "backend/cuda/head_block.cuh"

namespace counterbeam::cuda {
namespace {

constexpr int kEach = kTile / kBlockThreads;

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

// False where a row that job `index` looks at is not finite.
__device__ bool is_finite(const HeadArguments& a, int index) {
  const DeviceJob& job = a.jobs[index];
  if (job.row < 0) return false;
  const auto bad = [&](const TileSum* sums) {
    bool any = false;
    for (int i = threadIdx.x; i < a.tiles; i += kBlockThreads) any |= isnan(sums[i].sum);
    return any;
  };
  bool any = bad(a.own + std::size_t(index) * a.tiles);
  for (int m = 0; m < job.mixes; ++m)
    any |= bad(a.row_sums + std::size_t(a.mixes[job.first_mix + m].row) * a.tiles);
  return !__syncthreads_or(any);
}

// The lowest id among those of the largest score.
__device__ int likeliest(const Source& source, float top, BlockScratch& scratch) {
  int tile = source.tiles;
  for (int i = threadIdx.x; i < source.tiles; i += kBlockThreads)
    if (source.sums[i].top == top) tile = min(tile, i);
  tile = block_min(tile, scratch);
  int id = source.limit;
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int here = tile * kTile + j * kBlockThreads + int(threadIdx.x);
    if (score_at(source, here) == top) id = min(id, here);
  }
  id = block_min(id, scratch);
  return id < source.limit ? id : 0;
}

// Where a number falls in the distribution over tiles: the tile, and how far into it in units of
// its own sum.
struct Found {
  int tile;
  double into, total;
};

__device__ Found find_tile(const Source& source, const DeviceJob& job, float top,
                           BlockScratch& scratch) {
  __shared__ Found found;
  const int each = (source.tiles + kBlockThreads - 1) / kBlockThreads;
  const int first = threadIdx.x * each, last = min(first + each, source.tiles);
  const auto share = [&](int i) {
    return exp((double(source.sums[i].top) - double(top)) / double(job.temperature));
  };
  const auto part = [&](int i) {
    const float sum = source.sums[i].sum;
    return sum > 0 ? double(sum) * share(i) : 0.0;
  };
  double mass = 0;
  int final_tile = -1;
  for (int i = first; i < last; ++i) {
    const double here = part(i);
    mass += here;
    if (here > 0) final_tile = i;
  }
  const Scanned<double> scanned = block_scan(mass, scratch.doubles);
  final_tile = block_max(final_tile, scratch);
  const double target = job.uniform * scanned.total;
  double before = scanned.before, start = 0;
  int tile = source.tiles;
  for (int i = first; i < last; ++i) {
    const double here = part(i);
    // Rounding may leave the target beyond the last tile.
    if (here > 0 && (target < before + here || i == final_tile)) {
      tile = i;
      start = before;
      break;
    }
    before += here;
  }
  const int chosen = block_min(tile, scratch);
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
__device__ Drawn draw(const HeadArguments& a, int index, BlockScratch& scratch) {
  const DeviceJob& job = a.jobs[index];
  const Source source = source_of(a, job, index);
  float top = kNever;
  for (int i = threadIdx.x; i < source.tiles; i += kBlockThreads)
    top = fmaxf(top, source.sums[i].top);
  top = block_max(top, scratch);
  if (job.temperature == 0) return {likeliest(source, top, scratch), 0.0f};

  const Found found = find_tile(source, job, top, scratch);
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
  const Scanned<double> scanned = block_scan(mass, scratch.doubles);
  double passed = scanned.before;
  int token = source.limit, final_token = -1;
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    if (terms[j] == 0) continue;
    passed += double(terms[j]);
    final_token = first + j;
    if (found.into < passed) token = min(token, first + j);
  }
  token = block_min(token, scratch);
  final_token = block_max(final_token, scratch);
  if (token >= source.limit) token = max(final_token, 0);
  const double logprob =
      (double(source.scores[token]) - double(top)) / double(job.temperature) - log(found.total);
  return {token, float(logprob)};
}

// Grid: [jobs].
template <bool kFiltered>
__global__ void __launch_bounds__(kBlockThreads) pick_tokens(const HeadArguments a) {
  __shared__ BlockScratch scratch;
  let_successor_start();
  wait_for_predecessor();
  const int index = blockIdx.x;
  const DeviceJob& job = a.jobs[index];
  bool finite = is_finite(a, index);
  int drawer = index;  // whose token this job speaks of
  while (finite && a.jobs[drawer].follows >= 0 && a.jobs[drawer].follows < drawer) {
    drawer = a.jobs[drawer].follows;
    finite = is_finite(a, drawer);
  }
  if (!finite) {
    if (threadIdx.x == 0) a.results[index] = {-1, 0, 0, 0};
    return;
  }
  const int given = a.jobs[drawer].given;
  const Drawn drawn = given >= 0 ? Drawn{given, 0.0f} : draw<kFiltered>(a, drawer, scratch);
  if (threadIdx.x >= 32) return;
  const double total = log_sum_exp(a.own + std::size_t(index) * a.tiles, a.tiles);
  const float logprob = float(double(row_logits(a, job.row)[drawn.token]) - total);
  if (threadIdx.x == 0)
    a.results[index] = {drawn.token, logprob, draws(job) ? drawn.logprob : logprob, 1};
}

}  // namespace

void head_pick(cudaStream_t stream, const HeadArguments& a, bool filtered) {
  launch(stream, "head_pick", filtered ? pick_tokens<true> : pick_tokens<false>,
         dim3(unsigned(a.job_count)), dim3(kBlockThreads), 0, a);
}

}  // namespace counterbeam::cuda
