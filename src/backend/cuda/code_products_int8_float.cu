#include "backend/cuda/code_products.cuh"

namespace counterbeam::cuda {

template <>
CodeLauncher code_launcher<CodeRoute::Int8Float>() {
  using Kernels = CodeRouteKernels<CodeRoute::Int8Float>;
  return {Kernels::prepare, Kernels::run};
}

}  // namespace counterbeam::cuda
