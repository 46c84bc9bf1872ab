// gelu by its formula with tanh, for the finish of a product and for gates by themselves.
#pragma once

namespace counterbeam::cuda {

// x / 2 * (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), as x * sigmoid(2 u).
__device__ __forceinline__ float gelu_tanh(float x) {
  return x / (1.0f + __expf(-x * fmaf(x * x, 0.0713548163f, 1.59576912f)));
}

}  // namespace counterbeam::cuda
