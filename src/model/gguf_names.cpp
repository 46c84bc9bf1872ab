#include "model/gguf_names.h"

#include <numeric>
#include <utility>

#include "base/error.h"
#include "model/gguf_config.h"

namespace counterbeam {
namespace {

using Names = std::pair<std::string_view, std::string_view>;

constexpr Names kEnds[] = {{"embed_tokens.weight", "token_embd.weight"},
                           {"norm.weight", "output_norm.weight"},
                           {"lm_head.weight", "output.weight"}};
// Below a layer; ".weight" or ".bias" may follow.
constexpr Names kInLayers[] = {
    {"input_layernorm", "attn_norm"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.qkv_proj", "attn_qkv"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.gate_up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
    {"pre_feedforward_layernorm", "ffn_norm"},
    {"post_feedforward_layernorm", "post_ffw_norm"},
    {"linear_attn.in_proj_qkv", "attn_qkv"},
    {"linear_attn.in_proj_z", "attn_gate"},
    {"linear_attn.in_proj_b", "ssm_beta"},
    {"linear_attn.in_proj_a", "ssm_alpha"},
    {"linear_attn.conv1d", "ssm_conv1d"},
    {"linear_attn.norm", "ssm_norm"},
    {"linear_attn.out_proj", "ssm_out"},
};

// Gemma 3 and Qwen3.5 have a norm of this name after attention; elsewhere it is the one before the
// MLP.
bool has_norm_after_attention(Architecture architecture) {
  return architecture == Architecture::Gemma3 || architecture == Architecture::Qwen35;
}

std::string name_in_layer(std::string_view rest, Architecture architecture) {
  if (rest == "linear_attn.A_log") return "ssm_a";
  if (rest == "linear_attn.dt_bias") return "ssm_dt.bias";
  if (rest == "post_attention_layernorm.weight")
    return has_norm_after_attention(architecture) ? "post_attention_norm.weight"
                                                  : "ffn_norm.weight";
  const std::size_t dot = rest.rfind('.');
  for (const auto& [theirs, ours] : kInLayers)
    if (theirs == rest.substr(0, dot)) return fmt::format("{}{}", ours, rest.substr(dot));
  broken_invariant("a tensor of a known model", __FILE__, __LINE__);
}

std::vector<std::int32_t> in_order(std::int64_t count) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Row a + b d/2 of a head is the stored row 2a + b.
std::vector<std::int32_t> paired_order(std::int64_t rows, int head_dim) {
  std::vector<std::int32_t> order = in_order(rows);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int row = static_cast<int>(i) % head_dim, head = static_cast<int>(i) / head_dim;
    const int half = head_dim / 2;
    order[i] = head * head_dim + 2 * (row % half) + row / half;
  }
  return order;
}

// Value head k r + v, of r for each of K key heads, is the stored head v K + k. The heads begin at
// row `first` and have `each` rows.
std::vector<std::int32_t> tiled_order(const DeltaNetConfig& delta, int first, int each) {
  std::vector<std::int32_t> order = in_order(first + std::int64_t{delta.value_heads} * each);
  const int repeats = delta.value_heads / delta.key_heads;
  for (int head = 0; head < delta.value_heads; ++head) {
    const int stored = head % repeats * delta.key_heads + head / repeats;
    for (int i = 0; i < each; ++i)
      order[static_cast<std::size_t>(first + head * each + i)] = first + stored * each + i;
  }
  return order;
}

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> endings) {
  for (const std::string_view ending : endings)
    if (name.ends_with(ending)) return true;
  return false;
}

bool is_tiled(const ModelConfig& config) {
  return config.architecture == Architecture::Qwen35 &&
         config.delta.value_heads > config.delta.key_heads;
}

}  // namespace

std::string gguf_name(std::string_view name, Architecture architecture) {
  for (const auto& [theirs, ours] : kEnds)
    if (theirs == name) return std::string(ours);
  CB_CHECK(name.starts_with("layers."));
  name.remove_prefix(7);
  const std::size_t dot = name.find('.');
  return fmt::format("blk.{}.{}", name.substr(0, dot),
                     name_in_layer(name.substr(dot + 1), architecture));
}

std::vector<std::int32_t> stored_row_order(std::string_view name, const ModelConfig& config,
                                           std::int64_t rows) {
  if (has_paired_heads(config.architecture) &&
      (name.find(".q_proj.") != name.npos || name.find(".k_proj.") != name.npos))
    return paired_order(rows, config.head_dim);
  if (!is_tiled(config)) return {};
  const DeltaNetConfig& delta = config.delta;
  if (ends_with_any(name, {".in_proj_qkv.weight", ".conv1d.weight"}))
    return tiled_order(delta, 2 * delta.key_width(), delta.value_dim);
  if (name.ends_with(".in_proj_z.weight")) return tiled_order(delta, 0, delta.value_dim);
  if (ends_with_any(name, {".in_proj_a.weight", ".in_proj_b.weight", ".A_log", ".dt_bias"}))
    return tiled_order(delta, 0, 1);
  return {};
}

std::vector<std::int32_t> stored_column_order(std::string_view name, const ModelConfig& config) {
  if (!is_tiled(config) || !name.ends_with(".linear_attn.out_proj.weight")) return {};
  return tiled_order(config.delta, 0, config.delta.value_dim);
}

Shape without_leading_ones(const Shape& shape) {
  std::span<const std::int64_t> extents = shape.extents();
  while (!extents.empty() && extents.front() == 1) extents = extents.subspan(1);
  return Shape(extents);
}

bool is_stored_as_negative_exp(std::string_view name) {
  return name.ends_with(".A_log");
}

}  // namespace counterbeam
