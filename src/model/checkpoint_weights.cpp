#include "model/checkpoint_weights.h"

#include <array>
#include <charconv>

#include "base/error.h"
#include "base/quote.h"
#include "tensor/non_finite.h"

namespace counterbeam {
namespace {

constexpr std::array<std::string_view, 4> kPrefixes{"model.language_model.", "model.",
                                                    "language_model.model.", ""};

}  // namespace

std::string decoder_prefix(const Checkpoint& checkpoint) {
  for (const std::string_view prefix : kPrefixes)
    for (const std::string_view name : {"weight", "weight_packed"})
      if (checkpoint.find(fmt::format("{}embed_tokens.{}", prefix, name)))
        return std::string(prefix);
  bad_input(
      "{}: has no tensor model.embed_tokens.weight; the checkpoint is not complete, or its tensors "
      "are not named as transformers names them",
      checkpoint.folder().string());
}

CheckpointWeights::CheckpointWeights(Checkpoint checkpoint, const ModelConfig& config,
                                     LoadProgress progress)
    : checkpoint_(std::move(checkpoint)),
      tied_(config.tied),
      quantised_(config.quantised),
      prefix_(decoder_prefix(checkpoint_)),
      progress_(std::move(progress)) {
  refuse_unknown_layers(config.layer_count());
}

// A model that lost layers on the way still answers, only worse.
void CheckpointWeights::refuse_unknown_layers(int layers) const {
  const std::string start = prefix_ + "layers.";
  for (const CheckpointTensor& tensor : checkpoint_.tensors()) {
    if (!tensor.name.starts_with(start)) continue;
    int layer = -1;
    const char* first = tensor.name.data() + start.size();
    const auto [end, error] =
        std::from_chars(first, tensor.name.data() + tensor.name.size(), layer);
    if (layer >= layers || error == std::errc::result_out_of_range)
      bad_input(
          "{}: has tensor {} of layer {}, but config.json has {} layers (num_hidden_layers), from "
          "0; "
          "they belong to different models: download both again",
          checkpoint_.folder().string(), in_quotes(tensor.name), std::string_view(first, end),
          layers);
  }
}

// The output layer stands beside the body, not in it; multimodal checkpoints have a prefix for it.
std::string CheckpointWeights::full_name(const std::string& name) const {
  if (name != "lm_head.weight") return prefix_ + name;
  const std::string wrapped = "language_model.lm_head";
  const bool is_wrapped = checkpoint_.find(wrapped + ".weight") || quant_tensors().has(wrapped);
  return is_wrapped ? wrapped + ".weight" : name;
}

TensorView CheckpointWeights::get(const std::string& name, const Shape& shape) {
  const std::string full = full_name(name);
  const TensorView* view = checkpoint_.find(full);
  const std::string folder = checkpoint_.folder().string();
  if (view == nullptr) {
    bad_input("{}: tensor {} {} is missing; config.json asks for it: download the checkpoint again",
              folder, full, shape.to_string());
  }
  used_.insert(full);
  if (view->shape != shape) {
    bad_input(
        "{}: tensor {} has shape {}, but config.json asks for {}; download the checkpoint again",
        folder, full, view->shape.to_string(), shape.to_string());
  }
  if (!is_weight_dtype(view->dtype)) {
    bad_input("{}: tensor {} is {}; only F32, BF16 and F16 weights are supported", folder, full,
              name_of(view->dtype));
  }
  pending_.push_back(full);
  return *view;
}

StoredMatrix CheckpointWeights::matrix(const std::string& name, int out, int in) {
  constexpr std::string_view kWeight = ".weight";
  std::string module = full_name(name);
  if (module.ends_with(kWeight)) module.resize(module.size() - kWeight.size());
  const QuantTensors tensors = quant_tensors();
  if (!tensors.has(module)) {
    tensors.check_plain(module);
    return get(name, {out, in});
  }
  std::vector<std::string> names;
  const StoredMatrix matrix = tensors.read(module, out, in, names);
  for (std::string& used : names) {
    used_.insert(used);
    pending_.push_back(std::move(used));
  }
  return matrix;
}

void CheckpointWeights::will_read(std::span<const Rows>) {
  for (; hinted_ < pending_.size(); ++hinted_) checkpoint_.will_need(pending_[hinted_]);
}

void CheckpointWeights::done() {
  for (const std::string& name : pending_) {
    TensorView view = checkpoint_.at(name);
    bytes_done_ += static_cast<std::int64_t>(view.bytes());
    if (view.dtype == DType::U8) view.dtype = DType::F8E8M0;  // scales; nothing else is U8
    if (non_finite_.empty())
      if (const auto at = first_non_finite(view))
        non_finite_ = fmt::format("tensor {}, element {} of {}, is {}", name, *at,
                                  view.shape.elements(), value_at(view, *at));
    checkpoint_.check(name);  // after the last byte was read
    checkpoint_.done_with(name);
  }
  pending_.clear();
  hinted_ = 0;
  if (progress_) progress_(bytes_done_);
}

StoredWeights::Extent CheckpointWeights::extent() const {
  return {checkpoint_.files().size(), checkpoint_.tensors().size(),
          static_cast<std::int64_t>(checkpoint_.bytes())};
}

DType CheckpointWeights::dtype() const {
  const std::string table = prefix_ + "embed_tokens";
  const TensorView* plain = checkpoint_.find(table + ".weight");
  if (plain && is_weight_dtype(plain->dtype)) return plain->dtype;
  const TensorView* scales = checkpoint_.find(table + ".weight_scale");
  if (scales && is_weight_dtype(scales->dtype)) return scales->dtype;
  return plain ? plain->dtype : DType::BF16;
}

// Tensors of parts that are not run (vision, multi-token prediction), or that can be computed.
bool CheckpointWeights::is_known_extra(std::string_view name) const {
  for (const std::string_view part :
       {"mtp.", "model.visual.", "visual.", "model.vision_tower.", "vision_tower.",
        "model.multi_modal_projector.", "multi_modal_projector."})
    if (name.starts_with(part)) return true;
  if (quantised_)  // scales of activations and of the KV cache, which are not quantised here
    for (const std::string_view end :
         {".input_scale", ".input_zero_point", ".input_global_scale", ".activation_scale",
          ".output_scale", ".output_zero_point", ".q_scale", ".q_zero_point", ".k_scale",
          ".k_zero_point", ".v_scale", ".v_zero_point", ".weight_shape"})
      if (name.ends_with(end)) return true;
  return name.ends_with(".rotary_emb.inv_freq") || (tied_ && name.ends_with("lm_head.weight"));
}

// GPTQ tools write a bias of zeros for layers that have none.
bool CheckpointWeights::is_unused_bias(std::string_view name, const TensorView& view) const {
  constexpr std::string_view kBias = ".bias";
  if (!quantised_ || !name.ends_with(kBias) || !is_weight_dtype(view.dtype)) return false;
  if (!quant_tensors().has(std::string(name.substr(0, name.size() - kBias.size())))) return false;
  for (const float value : to_f32(view))
    if (value != 0) return false;
  return true;
}

std::vector<std::string> CheckpointWeights::unexpected() const {
  std::vector<std::string> names;
  for (const CheckpointTensor& tensor : checkpoint_.tensors())
    if (!used_.contains(tensor.name) && !is_known_extra(tensor.name) &&
        !is_unused_bias(tensor.name, tensor.view))
      names.push_back(tensor.name);
  return names;
}

}  // namespace counterbeam
