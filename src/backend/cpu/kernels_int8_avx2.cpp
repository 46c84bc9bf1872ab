#include "backend/cpu/int8_kernels.h"

namespace counterbeam {

const IntegerKernels& int8_avx2_kernels() {
  static constexpr IntegerKernels kKernels = int8_kernels<Int8Avx2>();
  return kKernels;
}

}  // namespace counterbeam
