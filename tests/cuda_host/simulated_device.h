// A GPU that computes on the host, as late as a real one may, so that the host's side of the CUDA
// back end (uploads, graphs, copies, the order of all of them) is tested where there is no GPU.
//
// Streams are queues that run when somebody waits for them. Plain copies, which belong to another
// stream and may be under way when their call has returned, run after that. Memory is full of NaN
// when it is handed out and when it is given back. Kernels are plain loops, one row after the
// other, so that a row's bits cannot depend on the rows beside it.
#pragma once

#include <cuda_runtime_api.h>

#include <cmath>
#include <functional>

#include "backend/cuda/kernels.h"

namespace counterbeam::testing {

void enqueue(cudaStream_t stream, std::function<void()> work);

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
