#include "model/quant_tensors.h"

#include "base/error.h"
#include "model/quant_reading.h"

namespace counterbeam {

// Whether the tensors of a module of compressed-tensors have the type, bits, scales and zero points
// of a rule.
bool QuantTensors::fits(const std::string& module, const QuantScheme& scheme, int out,
                        int in) const {
  const TensorView* packed = checkpoint_.find(module + ".weight_packed");
  const TensorView* weight = checkpoint_.find(module + ".weight");
  if (packed) {
    const int width = ceil_div(std::int64_t{in} * scheme.bits, 32);
    if (scheme.is_float || packed->shape != Shape{out, width}) return false;
  } else if (weight && scheme.is_float != (weight->dtype == DType::F8E4M3)) {
    return false;
  }
  if (!scheme.symmetric && !checkpoint_.find(module + ".weight_zero_point")) return false;
  const TensorView* scales = checkpoint_.find(module + ".weight_scale");
  if (!scales) return true;
  const int groups = scheme.group > 0 ? ceil_div(in, scheme.group) : 1;
  if (scheme.block_rows > 0)
    return scales->shape == Shape{ceil_div(out, scheme.block_rows), groups};
  return scales->shape == Shape{out, groups} ||
         (groups == 1 && (scales->shape.elements() == 1 || scales->shape == Shape{out}));
}

void QuantTensors::check_plain(const std::string& module) const {
  const TensorView* weight = checkpoint_.find(module + ".weight");
  if (!weight || (config_ && config_->decoded)) return;
  const std::string folder = checkpoint_.folder().string();
  for (const char* scale : {".weight_scale", ".weight_scale_inv"}) {
    if (!checkpoint_.find(module + scale)) continue;
    if (!is_weight_dtype(weight->dtype))
      bad_input("{}: tensor {}.weight is {}, which is not supported (supported: F8_E4M3, I8)",
                folder, module, name_of(weight->dtype));
    bad_input("{}: {} has a scale ({}{}), but {}.weight is {}, not quantised; download it again",
              folder, module, module, scale, module, name_of(weight->dtype));
  }
}

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
    bad_input("{}: has both {}.{} and {}.{}; one of them is too many: download it again", folder,
              module, words ? "qweight" : "weight_packed", module,
              plain ? "weight" : "weight_packed");
  if (!config_)
    bad_input(
        "{}: {} has quantised weights, but config.json has no quantization_config; download "
        "it again",
        folder, module);
  const QuantMethod method = config_->method;
  const auto scheme =
      method == QuantMethod::CompressedTensors
          ? config_->scheme_of(module,
                               [&](const QuantScheme& rule) { return fits(module, rule, out, in); })
          : config_->scheme_of(module);
  QuantReading reading{checkpoint_, *config_, module, names, scheme, {}};
  reading.matrix.out = out;
  reading.matrix.in = in;
  const bool word_method = method == QuantMethod::Awq || method == QuantMethod::Gptq;
  if (words != word_method || (packed && method != QuantMethod::CompressedTensors))
    bad_input(
        "{}: tensor {}.{} is not one of {} checkpoints, which {} says this is; download it again",
        folder, module,
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
