// A histogram of scores by a cluster of thread blocks, each block with bins in its own shared
// memory. Masses are integers (2^42 for the most likely score), so the order of additions does not
// matter; they are added as three words of 14 bits, for which shared memory has native atomics.
#pragma once

#include <cooperative_groups.h>

#include "backend/cuda/head_block.cuh"

namespace counterbeam::cuda {

namespace groups = cooperative_groups;

constexpr int kParts = 8;  // thread blocks of a cluster
constexpr float kMassUnit = 4398046511104.0f;
constexpr int kWordBits = 14;  // 2^17 scores of a block at most, so a sum of words fits 32 bits

using FilterBlock = Block<16>;

__device__ __forceinline__ std::uint64_t mass_of(float score, float top, float inverse_t) {
  return __float2ull_rn(expf((score - top) * inverse_t) * kMassUnit);
}

class Bins {
 public:
  struct Choice {
    int bin;  // -1: all bins together do not reach the goal
    std::uint64_t count, mass, count_above, mass_above;
  };

  __device__ void clear() {
    for (int i = threadIdx.x; i < kWords * kBins; i += FilterBlock::kThreads)
      words_[i / kBins][i % kBins] = 0;
    __syncthreads();
  }

  __device__ __forceinline__ void add(int bin) { atomicAdd(&words_[0][bin], 1u); }
  __device__ __forceinline__ void add(int bin, std::uint64_t mass) {
    add(bin);
#pragma unroll
    for (int w = 1; w < kWords; ++w) {
      const unsigned last = w + 1 == kWords ? ~0u : (1u << kWordBits) - 1;
      const unsigned word = unsigned(mass >> (kWordBits * (w - 1))) & last;
      if (word > 0) atomicAdd(&words_[w][bin], word);
    }
  }

  // Gives every block the sums of the whole cluster; each block adds up its share of the bins.
  __device__ void share_out(int part) {
    const auto cluster = groups::this_cluster();
    constexpr int kShare = kBins / kParts;
    static_assert(kShare * kWords == FilterBlock::kThreads);
    const int own = threadIdx.x % kShare, which = threadIdx.x / kShare, bin = part * kShare + own;
    cluster.sync();
    std::uint64_t sum = 0;
#pragma unroll
    for (int other = 0; other < kParts; ++other)
      sum += cluster.map_shared_rank(&words_[which][bin], other)[0];
    sums_[which][own] = sum;
    __syncthreads();
    const std::uint64_t mass =
        sums_[1][own] + (sums_[2][own] << kWordBits) + (sums_[3][own] << (2 * kWordBits));
#pragma unroll
    for (int i = 0; i < kParts / kWords; ++i) {
      const int other = which * (kParts / kWords) + i;
      cluster.map_shared_rank(&counts_[bin], other)[0] = unsigned(sums_[0][own]);
      cluster.map_shared_rank(&masses_[bin], other)[0] = mass;
    }
    cluster.sync();
  }

  // REQUIRES share_out(). The bin, from the most likely down, in which the goal is reached, and the
  // mass of all bins.
  __device__ Choice choose(bool by_mass, std::uint64_t goal, FilterBlock& block,
                           std::uint64_t& all_mass) {
    constexpr int kEach = kBins / FilterBlock::kThreads;
    const int first = kBins - 1 - int(threadIdx.x) * kEach;
    std::uint64_t count = 0, mass = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) count += counts_[first - i], mass += masses_[first - i];
    const auto counted = block.scan(count), weighed = block.scan(mass);
    if (threadIdx.x == 0) choice_.bin = -1;
    __syncthreads();
    count = counted.before, mass = weighed.before;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const std::uint64_t here = counts_[first - i], weight = masses_[first - i];
      const std::uint64_t before = by_mass ? mass : count,
                          after = before + (by_mass ? weight : here);
      if (before < goal && goal <= after) choice_ = {first - i, here, weight, count, mass};
      count += here;
      mass += weight;
    }
    __syncthreads();
    all_mass = weighed.total;
    return choice_;
  }

 private:
  static constexpr int kWords = 4;  // one of the count, three of the mass
  unsigned words_[kWords][kBins];   // of this block
  std::uint64_t sums_[kWords][kBins / kParts];
  unsigned counts_[kBins];  // of the cluster
  std::uint64_t masses_[kBins];
  Choice choice_;
};

}  // namespace counterbeam::cuda
