#include "backend/cuda/code_products.cuh"

namespace counterbeam::cuda {

template <>
CodeLauncher code_launcher<CodeRoute::Int4Bf16>() {
  using Kernels = CodeRouteKernels<CodeRoute::Int4Bf16>;
  return {Kernels::prepare, Kernels::run};
}

}  // namespace counterbeam::cuda
