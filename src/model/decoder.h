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

// Causal attention with grouped heads, up to the product that takes its result back to the hidden
// width (`output`).
struct Attention {
  Linear qkv;                              // [(heads + 2 kv_heads) * head_dim, hidden]
  std::unique_ptr<Vector> q_norm, k_norm;  // [head_dim], or none
  Linear output;                           // [hidden, heads * head_dim]

  struct Scratch {
    Matrix qkv;       // [rows, (heads + 2 kv_heads) * head_dim]
    Matrix q, k, v;   // columns of qkv
    Matrix attended;  // [rows, heads * head_dim]
  };
  static Scratch scratch(PassOps& ops, const ModelConfig& config, int rows);
  static Attention load(WeightOps& ops, WeightSource& weights, const ModelConfig& config,
                        int layer);
  // Stores the keys and values of x and puts what its queries find into scratch.attended. `rope`
  // null: no position encoding.
  void attend(PassOps& ops, Matrix x, const Scratch& scratch, const ModelConfig& config, int layer,
              const Rope* rope, Cache& cache) const;
};

// W_down (activation(W_gate x) * W_up x)
struct Mlp {
  Linear gate_up;  // [2 * intermediate, hidden]
  Linear down;     // [hidden, intermediate]
  Activation activation = Activation::Silu;

  struct Scratch {
    Matrix gate_up;  // [rows, 2 * intermediate]
    Matrix product;  // [rows, intermediate]
  };
  static Scratch scratch(PassOps& ops, const ModelConfig& config, int rows);
  static Mlp load(WeightOps& ops, WeightSource& weights, const ModelConfig& config, int layer);
  void apply(PassOps& ops, Matrix y, Matrix x, const Scratch& scratch) const;  // y = MLP(x)
  void add(PassOps& ops, Matrix h, Matrix x, const Scratch& scratch) const;    // h += MLP(x)
};

// The frequencies of the config in the form of the back end.
Rope make_rope(const RopeConfig& rope);

// The index of `layer` among the attention layers, or among the recurrent ones.
int index_among(const ModelConfig& config, int layer, Mixer mixer);

float attention_scale(const ModelConfig& config);

}  // namespace counterbeam
