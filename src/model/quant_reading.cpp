#include "model/quant_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"
#include "tensor/stored_matrix.h"

namespace counterbeam {
namespace {

constexpr std::array<std::string_view, 3> kScaleNames{".weight_scale", ".weight_scale_inv",
                                                      ".scale"};

bool is_scale_dtype(DType dtype) {
  return is_weight_dtype(dtype) || dtype == DType::F8E8M0 || dtype == DType::U8;
}

}  // namespace

std::string QuantReading::folder() const {
  return checkpoint.folder().string();
}

const TensorView* QuantReading::find(std::string_view suffix) {
  std::string name = module + std::string(suffix);
  const TensorView* view = checkpoint.find(name);
  if (view) names.push_back(std::move(name));
  return view;
}

const TensorView& QuantReading::at(std::string_view suffix) {
  const TensorView* view = find(suffix);
  if (!view) refuse("tensor {}{} is missing; {} is quantised and needs it", module, suffix, module);
  return *view;
}

void QuantReading::check_shape(std::string_view suffix, const TensorView& view,
                               const Shape& shape) const {
  if (view.shape != shape)
    refuse("tensor {}{} has shape {}, but {} [{}, {}] needs {}", module, suffix,
           view.shape.to_string(), module, matrix.out, matrix.in, shape.to_string());
}

void QuantReading::check_dtype(std::string_view suffix, const TensorView& view,
                               std::initializer_list<DType> allowed) const {
  if (std::find(allowed.begin(), allowed.end(), view.dtype) != allowed.end()) return;
  std::string list;
  for (const DType dtype : allowed)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", name_of(dtype));
  refuse("tensor {}{} is {}, but must be {}", module, suffix, name_of(view.dtype), list);
}

void QuantReading::take_scales(std::string_view suffix, const TensorView& view) {
  if (!is_scale_dtype(view.dtype))
    refuse("tensor {}{} is {}, but scales must be F32, BF16, F16 or F8_E8M0", module, suffix,
           name_of(view.dtype));
  matrix.scales = view;
}

void QuantReading::set_group(int size) {
  matrix.group = size > 0 && size < matrix.in ? size : matrix.in;
  matrix.groups = ceil_div(matrix.in, matrix.group);
}

void QuantReading::take_order(std::string_view suffix, bool may_be_unset) {
  const TensorView* order = find(suffix);
  if (!order) return;
  check_dtype(suffix, *order, {DType::I32});
  check_shape(suffix, *order, {matrix.in});
  bool unset = may_be_unset, in_order = true;
  std::optional<std::pair<int, std::int32_t>> wrong;  // the first input of no group
  for (int j = 0; j < matrix.in; ++j) {
    std::int32_t group;
    std::memcpy(&group, order->data + std::ptrdiff_t{j} * 4, 4);
    unset = unset && group == -1;
    in_order = in_order && group == j / matrix.group;
    if (!wrong && (group < 0 || group >= matrix.groups)) wrong.emplace(j, group);
  }
  if (!unset && wrong)
    refuse("tensor {}{}, element {}, is {}, but there are {} groups, from 0", module, suffix,
           wrong->first, wrong->second, matrix.groups);
  checkpoint.check(module + std::string(suffix));
  if (!unset && !in_order) matrix.order = order->data;
}

void QuantReading::take_grid(std::string_view suffix) {
  const TensorView& view = at(suffix);
  take_scales(suffix, view);
  const Shape& shape = view.shape;
  const int block_rows = scheme ? scheme->block_rows : 0, group = scheme ? scheme->group : 0;
  if (block_rows == 0 && shape.elements() == 1 && shape.rank() <= 2) {
    matrix.scale_rows = matrix.out;
    set_group(0);
    if (group > 0 && matrix.in > group)
      check_shape(suffix, view, {matrix.out, ceil_div(matrix.in, group)});
    return;
  }
  if (block_rows > 0) {
    matrix.scale_rows = block_rows;
    set_group(group);
    return check_shape(suffix, view, {ceil_div(matrix.out, block_rows), matrix.groups});
  }
  set_group(group);
  if (group == 0 && shape == Shape{matrix.out}) return;
  check_shape(suffix, view, {matrix.out, matrix.groups});
}

void QuantReading::use_default_blocks(std::string_view scale) {
  constexpr int kBlock = 128;
  const TensorView* view = checkpoint.find(module + std::string(scale));
  if (scheme->block_rows > 0 || !view || view->shape.elements() == 1) return;
  if (view->shape != Shape{ceil_div(matrix.out, kBlock), ceil_div(matrix.in, kBlock)}) return;
  scheme->block_rows = scheme->group = kBlock;
}

bool QuantReading::wants_zeros() const {
  return scheme && !scheme->symmetric;
}

void QuantReading::read_bytes() {
  const TensorView& weight = at(".weight");
  check_shape(".weight", weight, {matrix.out, matrix.in});
  matrix.values = weight;
  const bool is_float = weight.dtype == DType::F8E4M3;
  if (scheme && scheme->is_float != is_float)
    refuse("tensor {}.weight is {}, but {} says that it has {}", module, name_of(weight.dtype),
           config.file, scheme->is_float ? "FP8 numbers" : "integers");
  if (!scheme) infer_group();
  std::string_view scale;
  for (const std::string_view name : kScaleNames) {
    if (!checkpoint.find(module + std::string(name))) continue;
    if (!scale.empty())
      refuse("has both {}{} and {}{}; one of them is too many", module, scale, module, name);
    scale = name;
  }
  if (scheme && config.method == QuantMethod::Fp8) use_default_blocks(scale);
  const bool blocks = config.method == QuantMethod::Fp8 && scheme && scheme->block_rows > 0;
  take_grid(!scale.empty() ? scale : blocks ? ".weight_scale_inv" : ".weight_scale");
  take_order(".weight_g_idx", true);
  if (const TensorView* zeros = find(".weight_zero_point")) {
    if (is_float)
      refuse("tensor {}.weight_zero_point is there, but FP8 weights have no zero points", module);
    check_dtype(".weight_zero_point", *zeros, {DType::I8});
    check_shape(".weight_zero_point", *zeros, matrix.scales.shape);
    matrix.zero_layout = ScaledMatrix::Zeros::Bytes;
    matrix.zeros = *zeros;
  } else if (wants_zeros()) {
    at(".weight_zero_point");
  }
}

void QuantReading::read_packed() {
  const TensorView& packed = at(".weight_packed");
  check_dtype(".weight_packed", packed, {DType::I32});
  matrix.layout = ScaledMatrix::Values::PackedRows;
  matrix.values = packed;
  const auto width = [&](int bits) { return ceil_div(std::int64_t{matrix.in} * bits, 32); };
  matrix.bits = scheme ? scheme->bits : packed.shape == Shape{matrix.out, width(8)} ? 8 : 4;
  if (matrix.bits != 4 && matrix.bits != 8)
    bad_input(
        "{}: {} has packed weights of {} bits, as {} says; packed weights of 4 and 8 bits are "
        "supported",
        folder(), module, matrix.bits, config.file);
  check_shape(".weight_packed", packed, {matrix.out, width(matrix.bits)});
  if (const TensorView* shape = find(".weight_shape")) check_stored_shape(*shape);
  if (!scheme) infer_group();
  take_grid(".weight_scale");
  if (const TensorView* zeros = find(".weight_zero_point")) {
    check_dtype(".weight_zero_point", *zeros, {DType::I32, DType::I8});
    // Bytes where there is one scale or a scale per block, and always in files of early versions
    // of compressed-tensors.
    const bool bytes = zeros->dtype == DType::I8;
    const int rows = ceil_div(std::int64_t{matrix.out} * matrix.bits, 32);
    check_shape(".weight_zero_point", *zeros,
                bytes ? matrix.scales.shape : Shape{rows, matrix.groups});
    matrix.zero_layout = bytes ? ScaledMatrix::Zeros::Bytes : ScaledMatrix::Zeros::DownRows;
    matrix.zeros = *zeros;
  } else if (wants_zeros()) {
    at(".weight_zero_point");
  }
  take_order(".weight_g_idx", true);
}

void QuantReading::infer_group() {
  const TensorView* scales = checkpoint.find(module + ".weight_scale");
  scheme = QuantScheme{.bits = matrix.bits};
  if (!scales || scales->shape.rank() != 2 || scales->shape[1] < 2) return;
  if (matrix.in % scales->shape[1] != 0)
    refuse("{} has {} scales for {} inputs, and {} has no rule that says which", module,
           scales->shape[1], matrix.in, config.file);
  scheme->group = static_cast<int>(matrix.in / scales->shape[1]);
}

void QuantReading::check_stored_shape(const TensorView& view) const {
  check_dtype(".weight_shape", view, {DType::I64, DType::I32});
  check_shape(".weight_shape", view, {2});
  std::int64_t sizes[2];
  for (int i = 0; i < 2; ++i) {
    std::int32_t narrow;
    if (view.dtype == DType::I64) {
      std::memcpy(&sizes[i], view.data + i * 8, 8);
    } else {
      std::memcpy(&narrow, view.data + i * 4, 4);
      sizes[i] = narrow;
    }
  }
  if (sizes[0] != matrix.out || sizes[1] != matrix.in)
    refuse("tensor {}.weight_shape says [{}, {}], but config.json asks for [{}, {}]", module,
           sizes[0], sizes[1], matrix.out, matrix.in);
}

}  // namespace counterbeam
