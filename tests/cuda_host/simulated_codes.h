// What the simulated device's products see of quantised weights.
#pragma once

#include "backend/cuda/products.h"
#include "cuda_host/simulated_device.h"

namespace counterbeam::cuda {

// An element of a quantised matrix, rounded to bf16.
float code_value(const Weights& weights, int out, int in);

}  // namespace counterbeam::cuda
