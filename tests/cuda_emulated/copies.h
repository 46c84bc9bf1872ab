// Shared memory, its barriers (mbarrier), and the bulk copies that signal them. A copy reads and
// writes when it lands, as late as the schedule says; until then its destination holds NaN.
#pragma once

#include <cuda.h>

#include "cuda_emulated/machine.h"

namespace counterbeam::emulated {

void barrier_init(std::uint32_t address, int count);
// Arrives, and expects so many more bytes.
void barrier_arrive(std::uint32_t address, int bytes);
void barrier_wait(std::uint32_t address, int parity);

void copy_bytes(std::uint32_t to, const void* from, int bytes, std::uint32_t barrier);
void copy_box(std::uint32_t to, const CUtensorMap* map, int column, int row, std::uint32_t barrier);

// What a CUtensorMap holds here: boxes of 64 columns of bf16, with the 128-byte swizzle.
struct BoxMap {
  const std::byte* data;
  std::int64_t columns, rows, stride_bytes;
  int box_rows;
};
static_assert(sizeof(BoxMap) <= sizeof(CUtensorMap));

// Whether one allocation of device memory holds all of these bytes.
bool is_allocated(const void* data, std::size_t bytes);

}  // namespace counterbeam::emulated
