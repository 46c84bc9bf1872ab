#include "cuda_emulated/machine.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <stdexcept>

#include "cuda_emulated/warpgroup.h"

namespace counterbeam::emulated {

Thread* current = nullptr;

namespace {

// Room for static arrays. Dynamic memory begins behind them, at a multiple of no more than 16.
constexpr std::uint32_t kStaticBytes = 16 * 1024 + 16;
// In random order: copies land this seldom while threads can go on, and one in so many threads that
// wake or may pause waits until no other can.
constexpr unsigned kTurnsPerCopy = 256, kThreadsPerLate = 64;

// What may happen next.
struct Schedule {
  std::deque<Thread*> ready, late;
  std::vector<Copy> copies;
  Waiters pollers;  // threads that read a value again that has not changed
  std::string failure;
  Cluster* ended = nullptr;
};
Schedule g_next;

// A number below `end`, random unless the seed is 0.
std::size_t pick(std::size_t end) {
  static std::mt19937 random(machine().seed);
  return machine().seed == 0 ? 0 : random() % end;
}
// Whether to do something, once in so many times.
bool by_chance(unsigned times) {
  return pick(times) == times - 1;
}

void make_ready(Thread& thread) {
  (by_chance(kThreadsPerLate) ? g_next.late : g_next.ready).push_back(&thread);
}

int from_environment(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

void end_block(Block& block) {
  for (auto& group : block.warpgroups)
    if (group) group->check_end();
  for (const Copy& copy : g_next.copies)
    if (copy.block == &block) fail("a thread block ends before its bulk copies");
  for (const auto& [address, barrier] : block.memory_barriers)
    if (barrier.bytes != 0) fail("a thread block ends before the bytes that a barrier expects");
  if (block.cluster->blocks.size() > 1)
    std::memset(block.memory.get(), 0xff, block.memory_bytes);  // others may still read it
}

void end_thread(Thread& thread) {
  Block& block = *thread.block;
  Cluster& cluster = *block.cluster;
  give_back(std::exchange(thread.fiber, nullptr), true);
  --block.alive;
  --cluster.alive;
  block.release(block.barriers[0]);
  cluster.release();
  if (block.alive == 0) end_block(block);
  if (cluster.alive == 0) g_next.ended = &cluster;
}

void take_turn(std::deque<Thread*>& from, const std::function<void()>& body) {
  std::swap(from[pick(from.size())], from.front());
  Thread& thread = *from.front();
  from.pop_front();
  if (thread.fiber == nullptr) thread.fiber = take_fiber(body);
  current = &thread;
  const bool returned = resume(*thread.fiber);
  current = nullptr;
  if (returned) end_thread(thread);
}

void land_a_copy() {
  auto& copies = g_next.copies;
  const auto at = copies.begin() + std::ptrdiff_t(pick(copies.size()));
  const Copy copy = std::move(*at);
  copies.erase(at);
  copy.land();
}

// Runs until a cluster has ended, which is returned.
Cluster* run_some(const std::function<void()>& body) {
  g_next.ended = nullptr;
  while (g_next.ended == nullptr) {
    const bool copies = !g_next.copies.empty();
    if (!g_next.ready.empty() && !(copies && by_chance(kTurnsPerCopy))) {
      take_turn(g_next.ready, body);
    } else if (copies && (g_next.late.empty() || pick(2) == 0)) {
      land_a_copy();
    } else if (!g_next.late.empty()) {
      take_turn(g_next.late, body);
    } else {
      fail("no thread can go on");
    }
    if (!g_next.failure.empty()) throw std::runtime_error(g_next.failure);
  }
  return g_next.ended;
}

uint3 place_of(unsigned i, const dim3& size) {
  return {i % size.x, i / size.x % size.y, i / size.x / size.y};
}

std::unique_ptr<Cluster> make_cluster(const LaunchShape& shape, unsigned first) {
  const unsigned threads = shape.block.x * shape.block.y * shape.block.z;
  auto cluster = std::make_unique<Cluster>();
  cluster->alive = int(shape.cluster * threads);
  cluster->blocks.resize(shape.cluster);
  for (Block& block : cluster->blocks) {
    block.cluster = cluster.get();
    block.index = place_of(first++, shape.grid);
    block.grid = shape.grid;
    block.alive = int(threads);
    block.dynamic_at = kStaticBytes;
    block.memory_bytes = kStaticBytes + std::uint32_t(shape.shared_bytes);
    block.memory.reset(static_cast<std::byte*>(
        std::aligned_alloc(1024, (block.memory_bytes + 1023) / 1024 * 1024)));
    std::memset(block.memory.get(), 0xff, block.memory_bytes);
    block.collectives.resize((threads + 31) / 32);
    block.warpgroups.resize((threads + 127) / 128);
    block.threads.resize(threads);
    for (unsigned i = 0; i < threads; ++i) {
      Thread& thread = block.threads[i];
      thread.block = &block;
      thread.number = int(i);
      thread.index = place_of(i, shape.block);
      make_ready(thread);
    }
  }
  return cluster;
}

// After a failure: no thread goes on.
void abandon(const std::vector<std::unique_ptr<Cluster>>& resident) {
  for (const auto& cluster : resident)
    for (Block& block : cluster->blocks)
      for (Thread& thread : block.threads)
        if (thread.fiber != nullptr) give_back(thread.fiber, false);
  g_next = {};
  current = nullptr;
}

}  // namespace

const Machine& machine() {
  static const Machine read{from_environment("EMULATED_PROCESSORS", 132),
                            unsigned(from_environment("EMULATED_SEED", 0))};
  return read;
}

int blocks_per_processor(unsigned threads, std::size_t shared_bytes) {
  return std::min({int(2048 / threads), int(kProcessorMemory / (shared_bytes + 1024)), 32});
}

void run_kernel(const LaunchShape& shape, const std::function<void()>& body) {
  const unsigned threads = shape.block.x * shape.block.y * shape.block.z;
  const unsigned grid = shape.grid.x * shape.grid.y * shape.grid.z;
  const int at_once = machine().processors * blocks_per_processor(threads, shape.shared_bytes);
  if (threads > 1024 || shape.shared_bytes > kBlockMemory || unsigned(at_once) < shape.cluster ||
      grid % shape.cluster != 0)
    throw std::runtime_error("a kernel that does not fit");
  std::vector<std::unique_ptr<Cluster>> resident;
  try {
    for (unsigned next = 0; next < grid || !resident.empty();) {
      for (; next < grid && (resident.size() + 1) * shape.cluster <= unsigned(at_once);
           next += shape.cluster)
        resident.push_back(make_cluster(shape, next));
      const Cluster* ended = run_some(body);
      std::erase_if(resident, [&](const auto& cluster) { return cluster.get() == ended; });
    }
  } catch (...) {
    abandon(resident);
    throw;
  }
}

void fail(const std::string& what) {
  if (current == nullptr) throw std::runtime_error(what);
  g_next.failure = what + ": thread " + std::to_string(current->number) + " of block " +
                   std::to_string(current->block->index.x);
  for (;;) pause(*current->fiber);
}

void maybe_pause() {
  if (!by_chance(kThreadsPerLate)) return;
  g_next.late.push_back(current);
  pause(*current->fiber);
}

void Waiters::wait() {
  threads_.push_back(current);
  pause(*current->fiber);
}
void Waiters::wake() {
  for (Thread* thread : threads_) make_ready(*thread);
  threads_.clear();
}

Collective& Thread::collective() const {
  return block->collectives[std::size_t(number / 32)];
}
Warpgroup& Thread::warpgroup() const {
  auto& group = block->warpgroups[std::size_t(number / 128)];
  if (!group) group = std::make_unique<Warpgroup>(*block);
  return *group;
}

void Block::release(ThreadBarrier& barrier) {
  const int wanted = barrier.count > 0 ? barrier.count : alive;
  if (barrier.arrived == 0 || barrier.arrived < wanted) return;
  barrier.arrived = 0;
  barrier.waiters.wake();
}
void Cluster::release() {
  if (arrived == 0 || arrived < alive) return;
  arrived = 0;
  ++phase;
  waiters.wake();
}

void sync_block(int id, int count) {
  maybe_pause();
  ThreadBarrier& barrier = current->block->barriers.at(std::size_t(id));
  if (barrier.arrived > 0 && barrier.count != count) fail("a barrier with two counts");
  barrier.count = count;
  if (++barrier.arrived < (count > 0 ? count : current->block->alive)) {
    barrier.waiters.wait();
  } else {
    current->block->release(barrier);
  }
}

void cluster_arrive() {
  Cluster& cluster = *current->block->cluster;
  if (current->in_cluster_barrier) fail("a thread arrives twice at the barrier of its cluster");
  current->in_cluster_barrier = true;
  current->cluster_phase = cluster.phase;
  ++cluster.arrived;
  cluster.release();
}
void cluster_wait() {
  maybe_pause();
  Cluster& cluster = *current->block->cluster;
  if (!current->in_cluster_barrier) fail("a thread waits for its cluster before it arrives");
  while (cluster.phase == current->cluster_phase) cluster.waiters.wait();
  current->in_cluster_barrier = false;
}

void store_release(unsigned* to, unsigned value) {
  *to = value;
  g_next.pollers.wake();
  maybe_pause();
}
unsigned load_acquire(const unsigned* from) {
  if (current->polled == from && *from == current->polled_value) g_next.pollers.wait();
  current->polled = from;
  return current->polled_value = *from;
}

void start_copy(Copy copy) {
  Block& block = *copy.block;
  for (const Copy& other : g_next.copies)
    if (other.block == &block && copy.to < other.to + other.bytes &&
        other.to < copy.to + copy.bytes)
      fail("two bulk copies to the same memory");
  for (auto& group : block.warpgroups)
    if (group) group->check_overwritten(copy.to, copy.bytes);
  std::memset(block.at(copy.to, copy.bytes), 0xff, copy.bytes);
  g_next.copies.push_back(std::move(copy));
}

}  // namespace counterbeam::emulated
