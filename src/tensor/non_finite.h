// Looks for values that are NaN or infinite.
#pragma once

#include <cstdint>
#include <optional>

#include "tensor/tensor.h"

namespace counterbeam {

// The index of the first such element, in row-major order. Integers have none. Reads memory about
// as fast as it can be read. REQUIRES: F32, BF16, F16, F8_E4M3, F8_E8M0 or integers.
std::optional<std::int64_t> first_non_finite(const TensorView& view);

// One element as float32. REQUIRES one of these types of floats.
float value_at(const TensorView& view, std::int64_t index);

}  // namespace counterbeam
