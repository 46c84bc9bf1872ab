// mbarriers in shared memory, which count arrivals and bytes, and the bulk copies that signal them.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace counterbeam::cuda {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void barrier_init(std::uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(arrivals));
}
__device__ __forceinline__ void barriers_visible() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void barrier_arrive(std::uint32_t barrier_address) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier_address) : "memory");
}
__device__ __forceinline__ void barrier_arrive(std::uint64_t* barrier) {
  barrier_arrive(shared_address(barrier));
}
__device__ __forceinline__ void barrier_expect(std::uint64_t* barrier, int bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
}
__device__ __forceinline__ void barrier_wait(std::uint32_t barrier_address, int parity) {
  asm volatile(
      "{.reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; "
      "@!p bra again;}" ::"r"(barrier_address),
      "r"(parity)
      : "memory");
}
__device__ __forceinline__ void barrier_wait(std::uint64_t* barrier, int parity) {
  barrier_wait(shared_address(barrier), parity);
}

// Orders this thread's writes to shared memory before bulk copies that are started after the next
// __syncthreads().
__device__ __forceinline__ void writes_before_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

constexpr std::uint64_t kReadOnce = 0x12F0000000000000;  // evict first
constexpr std::uint64_t kKeep = 0x14F0000000000000;      // evict last

__device__ __forceinline__ void copy_bytes(void* to, const void* from, int bytes,
                                           std::uint64_t* barrier, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1], %2, [%3], %4;" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier)), "l"(policy)
      : "memory");
}
// Discards a 128-byte L2 line without writing it back. REQUIRES 128-byte alignment.
__device__ __forceinline__ void discard_line(const void* line) {
  asm volatile("discard.global.L2 [%0], 128;" ::"l"(line) : "memory");
}
// The box of `map` at (column, row).
__device__ __forceinline__ void copy_box(void* to, const CUtensorMap* map, int column, int row,
                                         std::uint64_t* barrier, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::"
      "cache_hint [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
      "l"(map), "r"(column), "r"(row), "r"(shared_address(barrier)), "l"(policy)
      : "memory");
}

}  // namespace counterbeam::cuda
