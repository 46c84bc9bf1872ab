// The scale of a group of weights. A weight w becomes the code nearest to w / scale, and stands for
// code * scale. The scale is found by a search: plain rounding to the largest weight, then scales
// that clip large weights so that the others lie closer, then the best scale for the codes found.
// The result is never worse than plain rounding, and the same on every machine.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/dtype.h"

namespace counterbeam {

enum class CodeFormat { Fp8, Int8, Int4 };

std::string_view name_of(CodeFormat format);  // "fp8"
int bits_of(CodeFormat format);

struct FoundScale {
  float scale = 1;   // positive, a number of `dtype`
  double error = 0;  // sum of importance * (w - code * scale)^2
};

// `importance` weighs the error of each weight, such as by the mean square of its input; empty: all
// alike. REQUIRES finite weights, importance that is finite and not negative, and a dtype of F32,
// BF16 or F16.
FoundScale find_scale(std::span<const float> weights, std::span<const float> importance,
                      CodeFormat format, DType dtype);
// Plain rounding: the largest weight gets the largest code.
FoundScale plain_scale(std::span<const float> weights, std::span<const float> importance,
                       CodeFormat format, DType dtype);

// The codes for a scale: two's complement for integers, E4M3 for Fp8. What they stand for is
// decode(code) * scale.
void encode(std::span<const float> weights, float scale, CodeFormat format,
            std::span<std::uint8_t> codes);
float decode(std::uint8_t code, CodeFormat format);

}  // namespace counterbeam
