// Measures the memory that a piece of code allocates. One source file of the test program must
// include support/allocation_operators.h.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace counterbeam::testing {

inline std::atomic<std::ptrdiff_t> allocated_now{0}, allocated_peak{0};

inline void* counted_new(std::size_t size, std::size_t alignment) {
  void* memory = alignment > alignof(std::max_align_t)
                     ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                     : std::malloc(std::max<std::size_t>(size, 1));
  if (!memory) throw std::bad_alloc();
  const std::ptrdiff_t now = allocated_now +=
      static_cast<std::ptrdiff_t>(::malloc_usable_size(memory));
  std::ptrdiff_t peak = allocated_peak;
  while (now > peak && !allocated_peak.compare_exchange_weak(peak, now)) {
  }
  return memory;
}

inline void counted_delete(void* memory) noexcept {
  if (memory) allocated_now -= static_cast<std::ptrdiff_t>(::malloc_usable_size(memory));
  std::free(memory);
}

// The peak of allocated memory while `work` runs, above the level before.
template <typename Work>
std::size_t peak_allocation(Work work) {
  const std::ptrdiff_t before = allocated_now;
  allocated_peak = before;
  work();
  return static_cast<std::size_t>(allocated_peak - before);
}

}  // namespace counterbeam::testing
