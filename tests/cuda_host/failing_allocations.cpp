#include "cuda_host/failing_allocations.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int> g_calls{0}, g_first_fault{0}, g_faults{0};
thread_local int t_uncounted = 0;

void* allocate(std::size_t size, std::size_t alignment) {
  if (t_uncounted == 0) {
    const int call = g_calls++;
    if (call >= g_first_fault && call - g_first_fault < g_faults) throw std::bad_alloc();
  }
  void* memory = alignment > alignof(std::max_align_t)
                     ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                     : std::malloc(std::max<std::size_t>(size, 1));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) {
  return allocate(size, 1);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace counterbeam::testing {

void fail_allocations(int first, int count) {
  g_calls = 0;
  g_first_fault = first;
  g_faults = count;
}

int allocations() {
  return g_calls;
}

UncountedAllocations::UncountedAllocations() {
  ++t_uncounted;
}
UncountedAllocations::~UncountedAllocations() {
  --t_uncounted;
}

}  // namespace counterbeam::testing
