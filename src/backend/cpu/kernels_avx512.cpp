#include "backend/cpu/kernel_table.h"
#include "backend/cpu/simd_avx512.h"

namespace counterbeam {

const Kernels& avx512_kernels() {
  static constexpr Kernels kKernels = kernel_table<Avx512Simd>();
  return kKernels;
}

}  // namespace counterbeam
