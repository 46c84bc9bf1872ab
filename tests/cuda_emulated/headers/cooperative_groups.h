// Clusters of thread blocks, as the CUDA back end uses them: in place of the header of CUDA.
#pragma once

#include "cuda_emulated/machine.h"

namespace cooperative_groups {

struct ThisCluster {
  void barrier_arrive() const { counterbeam::emulated::cluster_arrive(); }
  void barrier_wait() const { counterbeam::emulated::cluster_wait(); }
  void sync() const {
    barrier_arrive();
    barrier_wait();
  }
  unsigned block_rank() const { return unsigned(block() - block()->cluster->blocks.data()); }

  template <typename T>
  T* map_shared_rank(T* pointer, unsigned rank) const {
    const std::ptrdiff_t at = reinterpret_cast<std::byte*>(pointer) - block()->memory.get();
    const counterbeam::emulated::Block& other = block()->cluster->blocks.at(rank);
    if (other.alive == 0) counterbeam::emulated::fail("shared memory of a block that has ended");
    return reinterpret_cast<T*>(other.memory.get() + at);
  }

 private:
  static const counterbeam::emulated::Block* block() {
    return counterbeam::emulated::current->block;
  }
};

inline ThisCluster this_cluster() {
  return {};
}

}  // namespace cooperative_groups
