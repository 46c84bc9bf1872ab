#include "backend/cpu/kernel_table.h"
#include "backend/cpu/simd_avx2.h"

namespace counterbeam {

const Kernels& avx2_kernels() {
  static constexpr Kernels kKernels = kernel_table<Avx2Simd>();
  return kKernels;
}

}  // namespace counterbeam
