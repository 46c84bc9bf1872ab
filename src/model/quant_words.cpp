// AWQ and GPTQ: tensors of 32-bit words, with the scales [groups, out].
#include "base/error.h"
#include "model/quant_reading.h"

namespace counterbeam {

void QuantReading::take_scales_by_group() {
  const TensorView& scales = at(".scales");
  take_scales(".scales", scales);
  check_shape(".scales", scales, {matrix.groups, matrix.out});
  matrix.by_group = true;
}

void QuantReading::take_zeros(ScaledMatrix::Zeros layout) {
  const TensorView& zeros = at(".qzeros");
  check_dtype(".qzeros", zeros, {DType::I32});
  check_shape(".qzeros", zeros,
              {matrix.groups, ceil_div(std::int64_t{matrix.out} * matrix.bits, 32)});
  matrix.zero_layout = layout;
  matrix.zeros = zeros;
}

int QuantReading::group_of_scales() const {
  const TensorView* scales = checkpoint.find(module + ".scales");
  const std::int64_t rows = scales && scales->shape.rank() == 2 ? scales->shape[0] : 0;
  return rows > 0 && matrix.in % rows == 0 ? static_cast<int>(matrix.in / rows) : 0;
}

void QuantReading::read_awq() {
  const TensorView& weight = at(".qweight");
  matrix.bits = 4;
  if (matrix.out % 8 != 0)
    refuse("{} has {} outputs, but AWQ packs them by eights", module, matrix.out);
  check_dtype(".qweight", weight, {DType::I32});
  check_shape(".qweight", weight, {matrix.in, matrix.out / 8});
  matrix.layout = ScaledMatrix::Values::PackedOutputs;
  matrix.values = weight;
  set_group(scheme->group == kGroupOfScales ? group_of_scales() : scheme->group);
  take_zeros(ScaledMatrix::Zeros::AwqOrder);
  take_scales_by_group();
}

void QuantReading::read_gptq() {
  if (!scheme)
    refuse("{} has quantised tensors, but \"dynamic\" in {} says that it is plain", module,
           config.file);
  const TensorView& weight = at(".qweight");
  matrix.bits = scheme->bits;
  check_dtype(".qweight", weight, {DType::I32});
  check_shape(".qweight", weight,
              {ceil_div(std::int64_t{matrix.in} * matrix.bits, 32), matrix.out});
  matrix.layout = ScaledMatrix::Values::PackedInputs;
  matrix.values = weight;
  set_group(scheme->group);
  take_zeros(ScaledMatrix::Zeros::AlongRows);
  matrix.zeros_less_one = config.zeros_less_one;
  take_scales_by_group();
  take_order(".g_idx", false);
}

}  // namespace counterbeam
