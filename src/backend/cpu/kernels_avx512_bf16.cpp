#include "backend/cpu/kernel_table.h"
#include "backend/cpu/simd_avx512.h"

namespace counterbeam {

const Kernels& avx512_bf16_kernels() {
  static constexpr Kernels kKernels = kernel_table<Avx512Bf16Simd>();
  return kKernels;
}

}  // namespace counterbeam
