#include "model/decoder.h"

#include <cmath>

namespace counterbeam {

std::string layer_name(int layer, const char* rest) {
  return fmt::format("layers.{}.{}", layer, rest);
}

Matrix columns(const PassOps& ops, Matrix m, int first, int count) {
  return m.columns(first, count, ops.costs().activation_bytes);
}

std::unique_ptr<Vector> load_vector(WeightOps& ops, WeightSource& weights, const std::string& name,
                                    const Shape& shape) {
  const TensorView view = weights.get(name, shape);
  return ops.upload({&view, 1});
}

Linear Linear::load(WeightOps& ops, WeightSource& weights, std::initializer_list<Part> parts,
                    int in, bool with_bias) {
  std::vector<WeightSource::Rows> rows;
  std::vector<TensorView> biases;
  for (const Part& part : parts) {
    rows.push_back({part.name + ".weight", part.out});
    if (with_bias) biases.push_back(weights.get(part.name + ".bias", {part.out}));
  }
  Linear linear;
  linear.weight = weights.pack(ops, rows, in);
  if (with_bias) linear.bias = ops.upload(biases);
  return linear;
}

Attention::Scratch Attention::scratch(PassOps& ops, const ModelConfig& config, int rows) {
  const int q = config.heads * config.head_dim, kv = config.kv_heads * config.head_dim;
  const Matrix qkv = ops.matrix(rows, q + 2 * kv);
  return {qkv, columns(ops, qkv, 0, q), columns(ops, qkv, q, kv), columns(ops, qkv, q + kv, kv),
          ops.matrix(rows, q)};
}

Attention Attention::load(WeightOps& ops, WeightSource& weights, const ModelConfig& config,
                          int layer) {
  const int d = config.head_dim, q = config.heads * d, kv = config.kv_heads * d;
  const auto load_qkv = [&](std::initializer_list<Linear::Part> parts) {
    return Linear::load(ops, weights, parts, config.hidden, config.qkv_bias);
  };
  Attention out;
  out.qkv = config.fused_tensors ? load_qkv({{layer_name(layer, "self_attn.qkv_proj"), q + 2 * kv}})
                                 : load_qkv({{layer_name(layer, "self_attn.q_proj"), q},
                                             {layer_name(layer, "self_attn.k_proj"), kv},
                                             {layer_name(layer, "self_attn.v_proj"), kv}});
  if (config.qk_norm) {
    out.q_norm = load_vector(ops, weights, layer_name(layer, "self_attn.q_norm.weight"), {d});
    out.k_norm = load_vector(ops, weights, layer_name(layer, "self_attn.k_norm.weight"), {d});
  }
  out.output = Linear::load(ops, weights, {{layer_name(layer, "self_attn.o_proj"), config.hidden}},
                            q, config.output_bias);
  return out;
}

void Attention::attend(PassOps& ops, Matrix x, const Scratch& scratch, const ModelConfig& config,
                       int layer, const Rope* rope, Cache& cache) const {
  const auto& [all, q, k, v, attended] = scratch;
  qkv.apply(ops, all, x);
  if (q_norm) {
    ops.rms_norm(q, q, *q_norm, config.rms_norm_eps, norm_kind(config));
    ops.rms_norm(k, k, *k_norm, config.rms_norm_eps, norm_kind(config));
  }
  if (rope != nullptr) {
    ops.rope_and_store(q, config.heads, k, v, *rope, cache.kv(), layer, cache.shape().kv);
  } else {
    ops.store_kv(cache.kv(), layer, k, v);
  }
  ops.attention(attended, q, cache.kv(), layer, config.heads, attention_scale(config),
                config.layers[static_cast<std::size_t>(layer)].window);
}

Mlp::Scratch Mlp::scratch(PassOps& ops, const ModelConfig& config, int rows) {
  return {ops.matrix(rows, 2 * config.intermediate), ops.matrix(rows, config.intermediate)};
}

Mlp Mlp::load(WeightOps& ops, WeightSource& weights, const ModelConfig& config, int layer) {
  Mlp mlp;
  const int inner = config.intermediate;
  const auto load = [&](std::initializer_list<Linear::Part> parts) {
    return Linear::load(ops, weights, parts, config.hidden, config.mlp_bias);
  };
  mlp.gate_up = config.fused_tensors ? load({{layer_name(layer, "mlp.gate_up_proj"), 2 * inner}})
                                     : load({{layer_name(layer, "mlp.gate_proj"), inner},
                                             {layer_name(layer, "mlp.up_proj"), inner}});
  mlp.down = Linear::load(ops, weights, {{layer_name(layer, "mlp.down_proj"), config.hidden}},
                          config.intermediate, config.mlp_bias);
  mlp.activation = config.activation;
  return mlp;
}

void Mlp::apply(PassOps& ops, Matrix y, Matrix x, const Scratch& scratch) const {
  ops.gated_matmul(scratch.product, x, *gate_up.weight, gate_up.bias.get(), activation,
                   scratch.gate_up);
  down.apply(ops, y, scratch.product);
}

void Mlp::add(PassOps& ops, Matrix h, Matrix x, const Scratch& scratch) const {
  ops.gated_matmul(scratch.product, x, *gate_up.weight, gate_up.bias.get(), activation,
                   scratch.gate_up);
  down.add(ops, h, scratch.product);
}

Rope make_rope(const RopeConfig& rope) {
  return {inverse_frequencies(rope), static_cast<float>(rope.scale)};
}

int index_among(const ModelConfig& config, int layer, Mixer mixer) {
  int index = 0;
  for (int i = 0; i < layer; ++i)
    index += config.layers[static_cast<std::size_t>(i)].mixer == mixer;
  return index;
}

float attention_scale(const ModelConfig& config) {
  const double scalar = config.query_scalar > 0 ? config.query_scalar : config.head_dim;
  return 1.0f / std::sqrt(static_cast<float>(scalar));
}

}  // namespace counterbeam
