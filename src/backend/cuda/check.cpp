#include <cuda_runtime.h>

#include "backend/cuda/launch.h"
#include "base/error.h"

namespace counterbeam::cuda {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) failed("CUDA: {}: {}", what, cudaGetErrorString(status));
}

}  // namespace counterbeam::cuda
