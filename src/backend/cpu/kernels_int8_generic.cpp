#include "backend/cpu/int8_kernels.h"

namespace counterbeam {

const IntegerKernels& int8_generic_kernels() {
  static constexpr IntegerKernels kKernels = int8_kernels<Int8Generic>();
  return kKernels;
}

}  // namespace counterbeam
