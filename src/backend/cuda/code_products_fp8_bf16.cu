#include "backend/cuda/code_products.cuh"

namespace counterbeam::cuda {

template <>
CodeLauncher code_launcher<CodeRoute::Fp8Bf16>() {
  using Kernels = CodeRouteKernels<CodeRoute::Fp8Bf16>;
  return {Kernels::prepare, Kernels::run};
}

}  // namespace counterbeam::cuda
