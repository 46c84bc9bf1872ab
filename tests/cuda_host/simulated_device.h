// A simulated GPU that computes on the host, as late as a real one may, to test the host side of
// the CUDA back end (uploads, graphs, copies and their order) without a GPU.
//
// Streams are queues that run when the host waits for them. Copies without a stream, which may
// still be running when their call returns, run after that. Memory is filled with NaN when it is
// allocated and when it is freed. Kernels are plain loops over rows, so that the bits of a row
// cannot depend on the other rows.
#pragma once

#include <cuda_runtime_api.h>

#include <cmath>
#include <functional>

#include "backend/cuda/kernels.h"

namespace counterbeam::testing {

void enqueue(cudaStream_t stream, std::function<void()> work);
// How often work was put on any stream: kernels, copies and graphs.
int enqueued();

// From now on, `count` calls of the device fail, starting with the call number `first`. Counted are
// the calls that may fail on a real device: allocations, copies, launches, captures and waits.
void fail_device_calls(int first, int count);
// How many calls of that kind there were since then.
int device_calls();
// Allocations, streams, events and graphs that exist.
int device_objects();

inline float number(cuda::Bf16 x) {
  return __bfloat162float(x);
}
inline cuda::Bf16 stored(float x) {
  return __float2bfloat16(x);
}
inline float rounded(float x) {
  return number(stored(x));
}
inline cuda::Bf16* row_of(const Matrix& m, int row) {
  return static_cast<cuda::Bf16*>(m.data) + std::ptrdiff_t{row} * m.stride;
}
inline float sigmoid(float x) {
  return 1 / (1 + std::exp(-x));
}

}  // namespace counterbeam::testing
