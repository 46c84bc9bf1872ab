#include "cuda_emulated/copies.h"

#include <cstring>

namespace counterbeam::emulated {
namespace {

constexpr std::int64_t kMostBytes = (1 << 20) - 1;  // that a barrier can expect

MemoryBarrier& barrier_at(Block& block, std::uint32_t address) {
  const auto found = block.memory_barriers.find(address);
  if (found == block.memory_barriers.end()) fail("a barrier is used before it is initialised");
  return found->second;
}

void advance(MemoryBarrier& barrier) {
  if (barrier.pending < 0) fail("more arrivals than a barrier counts");
  if (barrier.bytes < 0 || barrier.bytes > kMostBytes) fail("more bytes than a barrier expects");
  if (barrier.pending > 0 || barrier.bytes > 0) return;
  ++barrier.phase;
  barrier.pending = barrier.count;
  barrier.waiters.wake();
}

void count_landed(Block& block, std::uint32_t address, std::uint32_t bytes) {
  MemoryBarrier& barrier = barrier_at(block, address);
  barrier.bytes -= bytes;
  advance(barrier);
}

bool is_aligned(const void* pointer, std::uintptr_t alignment) {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

}  // namespace

std::byte* Block::at(std::uint32_t address, std::size_t bytes) {
  if (address < kSharedBase || address + bytes > kSharedBase + memory_bytes)
    fail("an address beyond shared memory");
  return memory.get() + (address - kSharedBase);
}
std::uint32_t shared_address(const void* pointer) {
  const Block& block = *current->block;
  const std::ptrdiff_t at = static_cast<const std::byte*>(pointer) - block.memory.get();
  if (at < 0 || at > std::ptrdiff_t(block.memory_bytes)) fail("a pointer beyond shared memory");
  return kSharedBase + std::uint32_t(at);
}
std::byte* dynamic_shared() {
  return current->block->memory.get() + current->block->dynamic_at;
}
std::byte* static_shared(const void* key, std::size_t bytes, std::size_t alignment) {
  Block& block = *current->block;
  if (!block.statics.contains(key)) {
    const std::size_t at = (block.static_end + alignment - 1) / alignment * alignment;
    if (at + bytes > block.dynamic_at) fail("too much static shared memory");
    block.statics[key] = std::uint32_t(at);
    block.static_end = std::uint32_t(at + bytes);
  }
  return block.memory.get() + block.statics[key];
}

void barrier_init(std::uint32_t address, int count) {
  MemoryBarrier& barrier = current->block->memory_barriers[address];
  if (address % 8 != 0 || barrier.count != 0) fail("a barrier is initialised twice or misaligned");
  current->block->at(address, 8);
  barrier.count = barrier.pending = count;
}

void barrier_arrive(std::uint32_t address, int bytes) {
  MemoryBarrier& barrier = barrier_at(*current->block, address);
  barrier.bytes += bytes;
  --barrier.pending;
  advance(barrier);
  maybe_pause();
}

void barrier_wait(std::uint32_t address, int parity) {
  MemoryBarrier& barrier = barrier_at(*current->block, address);
  const unsigned phase = barrier.phase;
  if (int(phase % 2) != parity) return;
  barrier.waiters.wait();
  // A thread that looks again only now would find the parity that it waits to change.
  if (barrier.phase != phase + 1) fail("a thread misses a phase of a barrier");
}

void copy_bytes(std::uint32_t to, const void* from, int bytes, std::uint32_t barrier) {
  if (bytes <= 0 || bytes % 16 != 0 || to % 16 != 0 || !is_aligned(from, 16))
    fail("a misaligned bulk copy");
  if (!is_allocated(from, std::size_t(bytes))) fail("a bulk copy from beyond an allocation");
  Block* block = current->block;
  const auto count = std::uint32_t(bytes);
  start_copy({block, to, count, [=] {
                std::memcpy(block->at(to, count), from, count);
                count_landed(*block, barrier, count);
              }});
}

void copy_box(std::uint32_t to, const CUtensorMap* map, int column, int row,
              std::uint32_t barrier) {
  if (to % 128 != 0 || !is_aligned(map, 64)) fail("a misaligned copy of a box");
  BoxMap box;
  std::memcpy(&box, map, sizeof(box));
  Block* block = current->block;
  const auto bytes = std::uint32_t(box.box_rows * 128);
  start_copy({block, to, bytes, [=] {
                for (int i = 0; i < box.box_rows * 64; ++i) {
                  const std::int64_t y = row + i / 64, x = column + i % 64;
                  std::uint16_t bits = 0;
                  if (y >= 0 && y < box.rows && x >= 0 && x < box.columns)
                    std::memcpy(&bits, box.data + y * box.stride_bytes + 2 * x, 2);
                  const std::uint32_t plain = to + std::uint32_t(2 * i);
                  std::memcpy(block->at(plain ^ (plain >> 3 & 0x70), 2), &bits, 2);
                }
                count_landed(*block, barrier, bytes);
              }});
}

}  // namespace counterbeam::emulated
