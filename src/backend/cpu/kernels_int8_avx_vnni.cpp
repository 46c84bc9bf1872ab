#include "backend/cpu/int8_kernels.h"

namespace counterbeam {

const IntegerKernels& int8_avx_vnni_kernels() {
  static constexpr IntegerKernels kKernels = int8_kernels<Int8Vnni256>();
  return kKernels;
}

}  // namespace counterbeam
