// The building blocks of decoder layers: linear layers, the gated MLP, and helpers of attention. A
// block owns its weights; its scratch matrices are allocated once per pass and shared by all
// layers.
#pragma once

#include <memory>
#include <string>

#include "model/model.h"

namespace counterbeam {

// y = W x + b; several projections of the same x are stacked into one GEMM.
struct Linear {
  std::unique_ptr<PackedMatrix> weight;  // [sum of outs, in]
  std::unique_ptr<Vector> bias;          // [sum of outs], or null

  struct Part {
    std::string name;  // "layers.0.self_attn.q_proj"
    int out;
  };
  static Linear load(WeightOps& ops, WeightSource& weights, std::initializer_list<Part> parts,
                     int in, bool bias);

  void apply(PassOps& ops, Matrix y, Matrix x) const { ops.matmul(y, x, *weight, bias.get()); }
  void add(PassOps& ops, Matrix h, Matrix x) const { ops.matmul_add(h, x, *weight, bias.get()); }
};

std::unique_ptr<Vector> load_vector(WeightOps& ops, WeightSource& weights, const std::string& name,
                                    const Shape& shape);

std::string layer_name(int layer, const char* rest);  // "layers.3.mlp.up_proj"

// The columns [first, first + count) of a matrix of activations.
Matrix columns(const PassOps& ops, Matrix m, int first, int count);

// h += W_down (silu(W_gate x) * W_up x)
struct Mlp {
  Linear gate_up;  // [2 * intermediate, hidden]
  Linear down;     // [hidden, intermediate]

  struct Scratch {
    Matrix gate_up;  // [rows, 2 * intermediate]
    Matrix product;  // [rows, intermediate]
  };
  static Scratch scratch(PassOps& ops, const ModelConfig& config, int rows);
  static Mlp load(WeightOps& ops, WeightSource& weights, const ModelConfig& config, int layer);
  void add(PassOps& ops, Matrix h, Matrix x, const Scratch& scratch) const;
};

// The frequencies of the config in the form of the back end.
Rope make_rope(const RopeConfig& rope);

// The index of `layer` among the attention layers, or among the recurrent ones.
int index_among(const ModelConfig& config, int layer, Mixer mixer);

float attention_scale(const ModelConfig& config);

}  // namespace counterbeam
