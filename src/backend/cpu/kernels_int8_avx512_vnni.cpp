#include "backend/cpu/int8_kernels.h"

namespace counterbeam {

const IntegerKernels& int8_avx512_vnni_kernels() {
  static constexpr IntegerKernels kKernels = int8_kernels<Int8Vnni512>();
  return kKernels;
}

const IntegerKernels& int16_avx512_vnni_kernels() {
  static constexpr IntegerKernels kKernels = int8_kernels<Int8Vnni512, 2>();
  return kKernels;
}

}  // namespace counterbeam
