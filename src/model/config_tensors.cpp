#include "model/config_tensors.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/error.h"
#include "base/quote.h"

namespace counterbeam {
namespace {

constexpr std::array<std::string_view, 4> kPrefixes{"model.language_model.", "model.",
                                                    "language_model.model.", ""};

class Lister {
 public:
  Lister(const ModelConfig& config, std::string_view prefix) : config_(config), prefix_(prefix) {}

  std::vector<ExpectedTensor> list() {
    const ModelConfig& c = config_;
    add("embed_tokens.weight", {c.vocab, c.hidden});
    for (int i = 0; i < c.layer_count(); ++i) {
      layer_ = fmt::format("layers.{}.", i);
      add(layer_ + "input_layernorm.weight", {c.hidden});
      if (c.layers[static_cast<std::size_t>(i)].mixer == Mixer::Attention)
        attention();
      else
        delta_net();
      add(layer_ + "post_attention_layernorm.weight", {c.hidden});
      if (c.fused_tensors) {
        linear("mlp.gate_up_proj", 2 * std::int64_t{c.intermediate}, c.hidden, c.mlp_bias);
      } else {
        linear("mlp.gate_proj", c.intermediate, c.hidden, c.mlp_bias);
        linear("mlp.up_proj", c.intermediate, c.hidden, c.mlp_bias);
      }
      linear("mlp.down_proj", c.hidden, c.intermediate, c.mlp_bias);
    }
    add("norm.weight", {c.hidden});
    return std::move(tensors_);
  }

 private:
  void add(const std::string& name, const Shape& shape) {
    tensors_.push_back({prefix_ + name, shape});
  }

  void linear(const char* name, std::int64_t out, std::int64_t in, bool bias) {
    add(fmt::format("{}{}.weight", layer_, name), {out, in});
    if (bias) add(fmt::format("{}{}.bias", layer_, name), {out});
  }

  void attention() {
    const ModelConfig& c = config_;
    const std::int64_t q = std::int64_t{c.heads} * c.head_dim;
    const std::int64_t kv = std::int64_t{c.kv_heads} * c.head_dim;
    if (c.fused_tensors) {
      linear("self_attn.qkv_proj", q + 2 * kv, c.hidden, c.qkv_bias);
    } else {
      linear("self_attn.q_proj", c.output_gate ? 2 * q : q, c.hidden, c.qkv_bias);
      linear("self_attn.k_proj", kv, c.hidden, c.qkv_bias);
      linear("self_attn.v_proj", kv, c.hidden, c.qkv_bias);
    }
    linear("self_attn.o_proj", c.hidden, q, c.output_bias);
    if (!c.qk_norm) return;
    add(layer_ + "self_attn.q_norm.weight", {c.head_dim});
    add(layer_ + "self_attn.k_norm.weight", {c.head_dim});
  }

  void delta_net() {
    const DeltaNetConfig& d = config_.delta;
    const std::int64_t hidden = config_.hidden;
    linear("linear_attn.in_proj_qkv", d.conv_channels(), hidden, false);
    linear("linear_attn.in_proj_z", d.value_width(), hidden, false);
    linear("linear_attn.in_proj_b", d.value_heads, hidden, false);
    linear("linear_attn.in_proj_a", d.value_heads, hidden, false);
    add(layer_ + "linear_attn.conv1d.weight", {d.conv_channels(), 1, d.conv_width});
    add(layer_ + "linear_attn.A_log", {d.value_heads});
    add(layer_ + "linear_attn.dt_bias", {d.value_heads});
    add(layer_ + "linear_attn.norm.weight", {d.value_dim});
    linear("linear_attn.out_proj", hidden, d.value_width(), false);
  }

  const ModelConfig& config_;
  std::string prefix_, layer_;
  std::vector<ExpectedTensor> tensors_;
};

}  // namespace

std::vector<ExpectedTensor> expected_tensors(const ModelConfig& config, std::string_view prefix) {
  std::vector<ExpectedTensor> tensors = Lister(config, prefix).list();
  if (!config.tied) tensors.push_back({"lm_head.weight", {config.vocab, config.hidden}});
  return tensors;
}

std::string body_prefix(const Checkpoint& checkpoint) {
  for (const std::string_view prefix : kPrefixes)
    if (checkpoint.find(fmt::format("{}embed_tokens.weight", prefix))) return std::string(prefix);
  bad_input(
      "{}: has no tensor model.embed_tokens.weight; the checkpoint is not complete, or its tensors "
      "are not named as transformers names them",
      checkpoint.folder().string());
}

std::string lm_head_name(const Checkpoint& checkpoint) {
  const char* wrapped = "language_model.lm_head.weight";
  return checkpoint.find(wrapped) ? wrapped : "lm_head.weight";
}

std::int64_t parameter_count(const ModelConfig& config) {
  std::int64_t count = 0;
  for (const ExpectedTensor& tensor : expected_tensors(config)) count += tensor.shape.elements();
  return count;
}

bool is_known_extra(const ModelConfig& config, std::string_view name) {
  for (const std::string_view part :
       {"mtp.", "model.visual.", "visual.", "model.vision_tower.", "vision_tower.",
        "model.multi_modal_projector.", "multi_modal_projector."})
    if (name.starts_with(part)) return true;
  return name.ends_with(".rotary_emb.inv_freq") ||
         (config.tied && name.ends_with("lm_head.weight"));
}

CheckpointFit fit_checkpoint(const Checkpoint& checkpoint, const ModelConfig& config) {
  CheckpointFit fit;
  std::set<std::string> expected;
  const std::string prefix = body_prefix(checkpoint);
  for (ExpectedTensor& wanted : expected_tensors(config, prefix)) {
    if (wanted.name == "lm_head.weight") wanted.name = lm_head_name(checkpoint);
    const TensorView* found = checkpoint.find(wanted.name);
    expected.insert(wanted.name);
    if (!found)
      fit.problems.push_back(fmt::format("tensor {} is missing", wanted.name));
    else if (found->shape != wanted.shape)
      fit.problems.push_back(fmt::format("tensor {} has shape {}, config.json asks for {}",
                                         wanted.name, found->shape.to_string(),
                                         wanted.shape.to_string()));
    else if (!converts_to_f32(found->dtype))
      fit.problems.push_back(fmt::format("tensor {} has dtype {}, which is not supported",
                                         wanted.name, name_of(found->dtype)));
  }
  for (const CheckpointTensor& tensor : checkpoint.tensors())
    if (!expected.contains(tensor.name) && !is_known_extra(config, tensor.name))
      fit.unexpected.push_back(fmt::format("tensor {} is not expected", in_quotes(tensor.name)));
  return fit;
}

}  // namespace counterbeam
