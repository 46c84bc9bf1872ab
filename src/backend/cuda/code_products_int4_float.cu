#include "backend/cuda/code_products.cuh"

namespace counterbeam::cuda {

template <>
CodeLauncher code_launcher<CodeRoute::Int4Float>() {
  using Kernels = CodeRouteKernels<CodeRoute::Int4Float>;
  return {Kernels::prepare, Kernels::run};
}

}  // namespace counterbeam::cuda
