#include "backend/cpu/int8_kernels.h"

namespace counterbeam {

const IntegerKernels& int8_avx512_kernels() {
  static constexpr IntegerKernels kKernels = int8_kernels<Int8Avx512>();
  return kKernels;
}

}  // namespace counterbeam
