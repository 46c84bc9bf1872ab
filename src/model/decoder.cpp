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
  return mlp;
}

void Mlp::add(PassOps& ops, Matrix h, Matrix x, const Scratch& scratch) const {
  ops.gated_matmul(scratch.product, x, *gate_up.weight, gate_up.bias.get(), scratch.gate_up);
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
  return 1.0f / std::sqrt(static_cast<float>(config.head_dim));
}

}  // namespace counterbeam
