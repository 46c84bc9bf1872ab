#include "model/decoder.h"

#include <cmath>

namespace counterbeam {

std::string layer_name(int layer, const char* rest) {
  return fmt::format("layers.{}.{}", layer, rest);
}

Matrix columns(const Ops& ops, Matrix m, int first, int count) {
  return m.columns(first, count, ops.activation_bytes());
}

std::unique_ptr<Vector> load_vector(Ops& ops, WeightSource& weights, const std::string& name,
                                    const Shape& shape) {
  const TensorView view = weights.get(name, shape);
  return ops.upload({&view, 1});
}

Linear Linear::load(Ops& ops, WeightSource& weights, std::initializer_list<Part> parts, int in,
                    bool with_bias) {
  std::vector<TensorView> matrices, biases;
  for (const Part& part : parts) {
    matrices.push_back(weights.get(part.name + ".weight", {part.out, in}));
    if (with_bias) biases.push_back(weights.get(part.name + ".bias", {part.out}));
  }
  Linear linear;
  linear.weight = ops.pack(matrices);
  if (with_bias) linear.bias = ops.upload(biases);
  return linear;
}

Mlp::Scratch Mlp::scratch(Ops& ops, const ModelConfig& config, int rows) {
  return {ops.matrix(rows, 2 * config.intermediate), ops.matrix(rows, config.intermediate)};
}

Mlp Mlp::load(Ops& ops, WeightSource& weights, const ModelConfig& config, int layer) {
  Mlp mlp;
  mlp.intermediate = config.intermediate;
  mlp.gate_up = Linear::load(ops, weights,
                             {{layer_name(layer, "mlp.gate_proj"), config.intermediate},
                              {layer_name(layer, "mlp.up_proj"), config.intermediate}},
                             config.hidden, config.mlp_bias);
  mlp.down = Linear::load(ops, weights, {{layer_name(layer, "mlp.down_proj"), config.hidden}},
                          config.intermediate, config.mlp_bias);
  return mlp;
}

void Mlp::add(Ops& ops, Matrix h, Matrix x, const Scratch& scratch) const {
  gate_up.apply(ops, scratch.gate_up, x);
  ops.silu_mul(scratch.product, columns(ops, scratch.gate_up, 0, intermediate),
               columns(ops, scratch.gate_up, intermediate, intermediate));
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
