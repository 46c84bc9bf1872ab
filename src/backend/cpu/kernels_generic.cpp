#include "backend/cpu/kernel_table.h"
#include "backend/cpu/simd_generic.h"

namespace counterbeam {

const Kernels& generic_kernels() {
  static constexpr Kernels kKernels = kernel_table<GenericSimd>();
  return kKernels;
}

}  // namespace counterbeam
