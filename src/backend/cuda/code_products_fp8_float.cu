#include "backend/cuda/code_products.cuh"

namespace counterbeam::cuda {

template <>
CodeLauncher code_launcher<CodeRoute::Fp8Float>() {
  using Kernels = CodeRouteKernels<CodeRoute::Fp8Float>;
  return {Kernels::prepare, Kernels::run};
}

}  // namespace counterbeam::cuda
