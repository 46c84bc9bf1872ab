// Looks for values that are NaN or infinite.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/tensor.h"

namespace counterbeam {

// The index of the first such element, in row-major order. REQUIRES: F32, BF16 or F16. Reads memory
// about as fast as it can be read.
std::optional<std::int64_t> first_non_finite(const TensorView& view);

// One element as float32. REQUIRES: F32, BF16 or F16.
float value_at(const TensorView& view, std::int64_t index);

}  // namespace counterbeam
