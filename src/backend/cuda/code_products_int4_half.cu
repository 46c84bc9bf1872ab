#include "backend/cuda/code_products.cuh"

namespace counterbeam::cuda {

template <>
CodeLauncher code_launcher<CodeRoute::Int4Half>() {
  using Kernels = CodeRouteKernels<CodeRoute::Int4Half>;
  return {Kernels::prepare, Kernels::run};
}

}  // namespace counterbeam::cuda
