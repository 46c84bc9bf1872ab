// The threads of an emulated GPU. Every CUDA thread is a fiber, and the order of their turns is a
// function of a seed. A kernel that breaks a rule of the machine, or in which no thread can go on,
// ends with an error that its launch throws.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cuda_emulated/fibers.h"

namespace counterbeam::emulated {

struct Block;
struct Cluster;
struct Thread;
struct Warpgroup;

// Ends the running kernel.
[[noreturn]] void fail(const std::string& what);

// Threads that wait for the same event.
class Waiters {
 public:
  void wait();  // REQUIRES a running thread
  void wake();

 private:
  std::vector<Thread*> threads_;
};

// A barrier of a thread block. count 0: all threads that have not ended.
struct ThreadBarrier {
  int arrived = 0, count = 0;
  Waiters waiters;
};

// An mbarrier in shared memory.
struct MemoryBarrier {
  int count = 0, pending = 0;
  std::int64_t bytes = 0;  // that are expected and have not arrived
  unsigned phase = 0;
  Waiters waiters;
};

// An instruction that the lanes of a warp execute together.
struct Collective {
  const void* what = nullptr;
  std::array<void*, 32> operands{};
  int arrived = 0;
  Waiters waiters;
};

struct Thread {
  Block* block = nullptr;
  uint3 index{};
  int number = 0;  // in its block
  Fiber* fiber = nullptr;
  bool in_cluster_barrier = false;
  unsigned cluster_phase = 0;
  const unsigned* polled = nullptr;  // by its last ld.acquire
  unsigned polled_value = 0;

  Collective& collective() const;
  Warpgroup& warpgroup() const;
};

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};

struct Block {
  Cluster* cluster = nullptr;
  uint3 index{};
  dim3 grid;
  int alive = 0;  // threads that have not ended
  std::vector<Thread> threads;
  std::vector<Collective> collectives;
  std::vector<std::unique_ptr<Warpgroup>> warpgroups;
  std::array<ThreadBarrier, 16> barriers;
  std::map<std::uint32_t, MemoryBarrier> memory_barriers;  // by address
  // Shared memory: static arrays, from dynamic_at on the dynamic part.
  std::unique_ptr<std::byte[], FreeMemory> memory;
  std::uint32_t memory_bytes = 0, dynamic_at = 0, static_end = 0;
  std::map<const void*, std::uint32_t> statics;

  std::byte* at(std::uint32_t address, std::size_t bytes);
  void release(ThreadBarrier& barrier);
};

struct Cluster {
  std::vector<Block> blocks;
  int alive = 0, arrived = 0;  // threads
  unsigned phase = 0;
  Waiters waiters;
  void release();
};

extern Thread* current;

// In random order, occasionally lets all other threads run first. Called where a thread of the
// device may be slow.
void maybe_pause();

// A bulk copy to shared memory. `land` is called at any later time.
struct Copy {
  Block* block;
  std::uint32_t to, bytes;
  std::function<void()> land;
};
void start_copy(Copy copy);

// The device: EMULATED_PROCESSORS and EMULATED_SEED in the environment. Seed 0: threads in order,
// copies as late as possible; others: in random order, some threads as late as possible.
struct Machine {
  int processors;
  unsigned seed;
};
const Machine& machine();
constexpr int kProcessorMemory = 228 * 1024, kBlockMemory = 227 * 1024;  // shared
int blocks_per_processor(unsigned threads, std::size_t shared_bytes);

struct LaunchShape {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
  unsigned cluster = 1;
};
// Calls `body` in every thread and returns when all have ended.
void run_kernel(const LaunchShape& shape, const std::function<void()>& body);

constexpr std::uint32_t kSharedBase = 1024;  // the address where shared memory begins
std::uint32_t shared_address(const void* pointer);
std::byte* dynamic_shared();
std::byte* static_shared(const void* key, std::size_t bytes, std::size_t alignment);

void sync_block(int barrier, int count);
void cluster_arrive();
void cluster_wait();
void store_release(unsigned* to, unsigned value);
unsigned load_acquire(const unsigned* from);

// Calls all(operands of the 32 lanes) once, when the lanes of the mask are here.
template <typename Operands, typename F>
void together(const void* what, unsigned mask, Operands& mine, const F& all) {
  Collective& here = current->collective();
  if (here.arrived == 0) {
    here.what = what;
    here.operands.fill(nullptr);
  }
  if (here.what != what) fail("lanes of a warp diverge where they must not");
  here.operands[std::size_t(current->number % 32)] = &mine;
  if (++here.arrived < __builtin_popcount(mask)) return here.waiters.wait();
  here.arrived = 0;
  std::array<Operands*, 32> operands;
  for (std::size_t i = 0; i < 32; ++i) operands[i] = static_cast<Operands*>(here.operands[i]);
  all(operands);
  here.waiters.wake();
}

}  // namespace counterbeam::emulated
