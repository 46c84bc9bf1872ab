// A dense matrix as codes with scales, in the layout of compressed-tensors (docs/formats.md): FP8
// as bytes, integers packed into 32-bit words along the inputs.
#pragma once

#include <span>

#include "quantise/scale_search.h"
#include "tensor/stored_matrix.h"

namespace counterbeam {

struct MatrixScheme {
  CodeFormat format = CodeFormat::Int4;
  int group = 0;  // inputs that share a scale; 0: all of a row

  friend bool operator==(const MatrixScheme&, const MatrixScheme&) = default;
};

// What the tensors of a matrix [out, in] look like.
struct CodedShape {
  DType codes;
  Shape codes_shape;   // [out, in], or words: [out, ceil(in * bits / 32)]
  Shape scales_shape;  // [out, groups]
};
CodedShape coded_shape(std::int64_t out, std::int64_t in, const MatrixScheme& scheme);

struct CodedMatrix {
  Tensor codes, scales;
  double error = 0;   // sum of (w - code * scale)^2
  double energy = 0;  // sum of w^2
};

// The scales have the dtype of the weights. Uses `workers` threads; the result does not depend on
// how many. `importance` is one number per input, or empty. REQUIRES a matrix of finite numbers of
// a weight dtype whose width is a multiple of the group.
CodedMatrix quantise_matrix(const TensorView& dense, const MatrixScheme& scheme,
                            std::span<const float> importance, int workers);

}  // namespace counterbeam
