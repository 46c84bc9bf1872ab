#include "model/quant_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"

namespace counterbeam {
namespace {

constexpr std::array<std::string_view, 3> kScaleNames{".weight_scale", ".weight_scale_inv",
                                                      ".scale"};

int ceil_div(std::int64_t a, std::int64_t b) {
  return static_cast<int>((a + b - 1) / b);
}

bool is_scale_dtype(DType dtype) {
  return is_weight_dtype(dtype) || dtype == DType::F8E8M0 || dtype == DType::U8;
}

}  // namespace

// One module while it is read.
struct QuantTensors::Reading {
  const Checkpoint& checkpoint;
  const QuantConfig& config;
  const std::string& module;
  std::vector<std::string>& names;
  std::optional<QuantScheme> scheme;  // as the config says
  ScaledMatrix matrix;

  std::string folder() const { return checkpoint.folder().string(); }

  const TensorView* find(std::string_view suffix) {
    std::string name = module + std::string(suffix);
    const TensorView* view = checkpoint.find(name);
    if (view) names.push_back(std::move(name));
    return view;
  }
  const TensorView& at(std::string_view suffix) {
    const TensorView* view = find(suffix);
    if (!view)
      bad_input("{}: tensor {}{} is missing; {} is quantised and needs it", folder(), module,
                suffix, module);
    return *view;
  }
  void check_shape(std::string_view suffix, const TensorView& view, const Shape& shape) const {
    if (view.shape != shape)
      bad_input("{}: tensor {}{} has shape {}, but {} [{}, {}] needs {}", folder(), module, suffix,
                view.shape.to_string(), module, matrix.out, matrix.in, shape.to_string());
  }
  void check_dtype(std::string_view suffix, const TensorView& view,
                   std::initializer_list<DType> allowed) const {
    if (std::find(allowed.begin(), allowed.end(), view.dtype) != allowed.end()) return;
    std::string list;
    for (const DType dtype : allowed)
      list += fmt::format("{}{}", list.empty() ? "" : ", ", name_of(dtype));
    bad_input("{}: tensor {}{} is {}, but must be {}", folder(), module, suffix,
              name_of(view.dtype), list);
  }

  void take_scales(std::string_view suffix, const TensorView& view) {
    if (!is_scale_dtype(view.dtype))
      bad_input("{}: tensor {}{} is {}, but scales must be F32, BF16, F16 or F8_E8M0", folder(),
                module, suffix, name_of(view.dtype));
    matrix.scales = view;
  }
  void set_group(int size) {
    matrix.group = size > 0 && size < matrix.in ? size : matrix.in;
    matrix.groups = ceil_div(matrix.in, matrix.group);
  }
  void check_bits(int stored) const {
    if (scheme && scheme->bits != stored)
      bad_input("{}: {} has weights of {} bits, but {} says {}", folder(), module, stored,
                config.file, scheme->bits);
  }

  void take_order(std::string_view suffix) {
    const TensorView* order = find(suffix);
    if (!order) return;
    check_dtype(suffix, *order, {DType::I32});
    check_shape(suffix, *order, {matrix.in});
    bool unset = true, in_order = true;
    for (int j = 0; j < matrix.in; ++j) {
      std::int32_t group;
      std::memcpy(&group, order->data + std::ptrdiff_t{j} * 4, 4);
      unset = unset && group == -1;
      in_order = in_order && group == j / matrix.group;
      if (!unset && (group < 0 || group >= matrix.groups))
        bad_input("{}: tensor {}{}, element {}, is {}, but there are {} groups, from 0", folder(),
                  module, suffix, j, group, matrix.groups);
    }
    checkpoint.check(module + std::string(suffix));
    if (!unset && !in_order) matrix.order = order->data;
  }

  // The scales of bytes and of weights packed along rows: one for all, one per row, one per group
  // of a row, or one per block. The config says the sizes of groups and blocks, and the shape must
  // fit.
  void take_grid(std::string_view suffix) {
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

  bool wants_zeros() const { return scheme && !scheme->symmetric; }

  void read_bytes() {
    const TensorView& weight = at(".weight");
    check_shape(".weight", weight, {matrix.out, matrix.in});
    matrix.values = weight;
    check_bits(8);
    const bool is_float = weight.dtype == DType::F8E4M3;
    if (scheme && scheme->is_float != is_float)
      bad_input("{}: tensor {}.weight is {}, but {} says that it has {}", folder(), module,
                name_of(weight.dtype), config.file, scheme->is_float ? "FP8 numbers" : "integers");
    if (!scheme) infer_group();
    std::string_view scale;
    for (const std::string_view name : kScaleNames) {
      if (!checkpoint.find(module + std::string(name))) continue;
      if (!scale.empty())
        bad_input("{}: has both {}{} and {}{}; one of them is too many", folder(), module, scale,
                  module, name);
      scale = name;
    }
    const bool blocks = config.method == QuantMethod::Fp8 && scheme && scheme->block_rows > 0;
    take_grid(!scale.empty() ? scale : blocks ? ".weight_scale_inv" : ".weight_scale");
    if (const TensorView* zeros = find(".weight_zero_point")) {
      if (is_float)
        bad_input("{}: tensor {}.weight_zero_point is there, but FP8 weights have no zero points",
                  folder(), module);
      check_dtype(".weight_zero_point", *zeros, {DType::I8});
      check_shape(".weight_zero_point", *zeros, matrix.scales.shape);
      matrix.zero_layout = ScaledMatrix::Zeros::Bytes;
      matrix.zeros = *zeros;
    } else if (wants_zeros()) {
      at(".weight_zero_point");
    }
  }

  void read_packed() {
    const TensorView& packed = at(".weight_packed");
    check_dtype(".weight_packed", packed, {DType::I32});
    matrix.layout = ScaledMatrix::Values::PackedRows;
    matrix.values = packed;
    const auto width = [&](int bits) { return ceil_div(std::int64_t{matrix.in} * bits, 32); };
    matrix.bits = scheme ? scheme->bits : packed.shape == Shape{matrix.out, width(8)} ? 8 : 4;
    check_shape(".weight_packed", packed, {matrix.out, width(matrix.bits)});
    if (const TensorView* shape = find(".weight_shape")) check_stored_shape(*shape);
    if (!scheme) infer_group();
    take_grid(".weight_scale");
    if (const TensorView* zeros = find(".weight_zero_point")) {
      check_dtype(".weight_zero_point", *zeros, {DType::I32});
      const int rows = ceil_div(std::int64_t{matrix.out} * matrix.bits, 32);
      check_shape(".weight_zero_point", *zeros, {rows, matrix.groups});
      matrix.zero_layout = ScaledMatrix::Zeros::DownRows;
      matrix.zeros = *zeros;
    } else if (wants_zeros()) {
      at(".weight_zero_point");
    }
    take_order(".weight_g_idx");
  }

  // Without a rule for the module, the number of scales says the size of a group, if it divides.
  void infer_group() {
    const TensorView* scales = checkpoint.find(module + ".weight_scale");
    scheme = QuantScheme{.bits = matrix.bits};
    if (!scales || scales->shape.rank() != 2 || scales->shape[1] < 2) return;
    if (matrix.in % scales->shape[1] != 0)
      bad_input("{}: {} has {} scales for {} inputs, and {} has no rule that says which", folder(),
                module, scales->shape[1], matrix.in, config.file);
    scheme->group = static_cast<int>(matrix.in / scales->shape[1]);
  }

  void check_stored_shape(const TensorView& view) const {
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
      bad_input("{}: tensor {}.weight_shape says [{}, {}], but config.json asks for [{}, {}]",
                folder(), module, sizes[0], sizes[1], matrix.out, matrix.in);
  }

  // The scales [groups, out] of AWQ and GPTQ.
  void take_scales_by_group() {
    const TensorView& scales = at(".scales");
    take_scales(".scales", scales);
    check_shape(".scales", scales, {matrix.groups, matrix.out});
    matrix.by_group = true;
  }
  void take_zeros(ScaledMatrix::Zeros layout) {
    const TensorView& zeros = at(".qzeros");
    check_dtype(".qzeros", zeros, {DType::I32});
    check_shape(".qzeros", zeros,
                {matrix.groups, ceil_div(std::int64_t{matrix.out} * matrix.bits, 32)});
    matrix.zero_layout = layout;
    matrix.zeros = zeros;
  }

  void read_awq() {
    const TensorView& weight = at(".qweight");
    matrix.bits = 4;
    if (matrix.out % 8 != 0)
      bad_input("{}: {} has {} outputs; AWQ packs them by eights", folder(), module, matrix.out);
    check_dtype(".qweight", weight, {DType::I32});
    check_shape(".qweight", weight, {matrix.in, matrix.out / 8});
    matrix.layout = ScaledMatrix::Values::PackedOutputs;
    matrix.values = weight;
    set_group(scheme->group);
    take_zeros(ScaledMatrix::Zeros::AwqOrder);
    take_scales_by_group();
  }

  void read_gptq() {
    if (!scheme)
      bad_input("{}: {} has quantised tensors, but \"dynamic\" in {} says that it is plain",
                folder(), module, config.file);
    const TensorView& weight = at(".qweight");
    matrix.bits = scheme->bits;
    check_dtype(".qweight", weight, {DType::I32});
    check_shape(".qweight", weight,
                {ceil_div(std::int64_t{matrix.in} * matrix.bits, 32), matrix.out});
    matrix.layout = ScaledMatrix::Values::PackedInputs;
    matrix.values = weight;
    set_group(scheme->group);
    take_zeros(ScaledMatrix::Zeros::AlongRows);
    matrix.zero_shift = config.zeros_less_one ? 1 : 0;
    take_scales_by_group();
    take_order(".g_idx");
  }
};

bool QuantTensors::has(const std::string& module) const {
  if (checkpoint_.find(module + ".qweight") || checkpoint_.find(module + ".weight_packed"))
    return true;
  const TensorView* weight = checkpoint_.find(module + ".weight");
  return weight && (weight->dtype == DType::F8E4M3 || weight->dtype == DType::I8);
}

StoredMatrix QuantTensors::read(const std::string& module, int out, int in,
                                std::vector<std::string>& names) const {
  const std::string folder = checkpoint_.folder().string();
  const bool words = checkpoint_.find(module + ".qweight") != nullptr;
  const bool packed = checkpoint_.find(module + ".weight_packed") != nullptr;
  const bool plain = checkpoint_.find(module + ".weight") != nullptr;
  if (words + packed + plain > 1)
    bad_input("{}: has both {}.{} and {}.{}; one of them is too many", folder, module,
              words ? "qweight" : "weight_packed", module, plain ? "weight" : "weight_packed");
  if (!config_)
    bad_input(
        "{}: {} has quantised weights, but config.json has no quantization_config; download "
        "it again",
        folder, module);
  Reading reading{checkpoint_, *config_, module, names, config_->scheme_of(module), {}};
  reading.matrix.out = out;
  reading.matrix.in = in;
  const QuantMethod method = config_->method;
  const bool word_method = method == QuantMethod::Awq || method == QuantMethod::Gptq;
  if (words != word_method || (packed && method != QuantMethod::CompressedTensors))
    bad_input("{}: tensor {}.{} is not one of {} checkpoints, which {} says this is", folder,
              module,
              words    ? "qweight"
              : packed ? "weight_packed"
                       : "weight",
              name_of(method), config_->file);
  if (packed)
    reading.read_packed();
  else if (!words)
    reading.read_bytes();
  else if (method == QuantMethod::Awq)
    reading.read_awq();
  else
    reading.read_gptq();
  return reading.matrix;
}

}  // namespace counterbeam
