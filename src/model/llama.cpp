// Llama and its kin, which differ from it by a switch each: Mistral (a window), Phi-3 (a window, q,
// k and v in one tensor, gate and up too), SmolLM3 (layers without rope), Qwen2 (biases on q, k and
// v), Qwen3 (a norm on every query and key head).
#include "model/decoder.h"

namespace counterbeam {
namespace {

struct Layer {
  std::unique_ptr<Vector> input_norm;      // [hidden]
  Linear qkv;                              // [(heads + 2 kv_heads) * head_dim, hidden]
  std::unique_ptr<Vector> q_norm, k_norm;  // [head_dim], or none
  Linear output;                           // [hidden, heads * head_dim]
  std::unique_ptr<Vector> mlp_norm;        // [hidden]
  Mlp mlp;
  int window = 0;
  bool rope = true;
};

Layer load_layer(WeightOps& ops, WeightSource& weights, const ModelConfig& config, int i) {
  const int d = config.head_dim, q = config.heads * d, kv = config.kv_heads * d;
  const auto vector = [&](const char* name, int size) {
    return load_vector(ops, weights, layer_name(i, name), {size});
  };
  const auto load_qkv = [&](std::initializer_list<Linear::Part> parts) {
    return Linear::load(ops, weights, parts, config.hidden, config.qkv_bias);
  };
  Layer layer;
  layer.input_norm = vector("input_layernorm.weight", config.hidden);
  layer.qkv = config.fused_tensors ? load_qkv({{layer_name(i, "self_attn.qkv_proj"), q + 2 * kv}})
                                   : load_qkv({{layer_name(i, "self_attn.q_proj"), q},
                                               {layer_name(i, "self_attn.k_proj"), kv},
                                               {layer_name(i, "self_attn.v_proj"), kv}});
  if (config.qk_norm) {
    layer.q_norm = vector("self_attn.q_norm.weight", d);
    layer.k_norm = vector("self_attn.k_norm.weight", d);
  }
  layer.output = Linear::load(ops, weights, {{layer_name(i, "self_attn.o_proj"), config.hidden}}, q,
                              config.output_bias);
  layer.mlp_norm = vector("post_attention_layernorm.weight", config.hidden);
  layer.mlp = Mlp::load(ops, weights, config, i);
  layer.window = config.layers[static_cast<std::size_t>(i)].window;
  layer.rope = config.layers[static_cast<std::size_t>(i)].rope;
  weights.done();
  return layer;
}

class Llama : public Model {
 public:
  Llama(const ModelConfig& config, WeightOps& ops, WeightSource& weights)
      : Model(config), rope_(make_rope(config.rope)) {
    load_ends(ops, weights);
    for (int i = 0; i < config.layer_count(); ++i) {
      layers_.push_back(load_layer(ops, weights, config, i));
    }
  }

  Matrix forward(PassOps& ops, const Batch& batch, Cache& cache,
                 std::span<const int> wanted) const override {
    const int d = config_.head_dim, q_width = config_.heads * d, kv_width = config_.kv_heads * d;
    const float eps = config_.rms_norm_eps;
    const Matrix h = embedded(ops, batch);         // [rows, hidden]
    const Matrix x = ops.matrix(h.rows, h.width);  // [rows, hidden]
    const Matrix qkv = ops.matrix(h.rows, q_width + 2 * kv_width);
    const Matrix q = columns(ops, qkv, 0, q_width);                    // [rows, heads, d]
    const Matrix k = columns(ops, qkv, q_width, kv_width);             // [rows, kv_heads, d]
    const Matrix v = columns(ops, qkv, q_width + kv_width, kv_width);  // [rows, kv_heads, d]
    const Matrix attended = ops.matrix(h.rows, q_width);               // [rows, heads, d]
    const Mlp::Scratch scratch = Mlp::scratch(ops, config_, h.rows);
    for (int i = 0; i < config_.layer_count(); ++i) {
      const Layer& layer = layers_[static_cast<std::size_t>(i)];
      ops.rms_norm(x, h, *layer.input_norm, eps, norm_kind());
      layer.qkv.apply(ops, qkv, x);
      if (layer.q_norm) {
        ops.rms_norm(q, q, *layer.q_norm, eps, norm_kind());
        ops.rms_norm(k, k, *layer.k_norm, eps, norm_kind());
      }
      if (layer.rope) {
        ops.rope_and_store(q, config_.heads, k, v, rope_, cache.kv(), i, cache.shape().kv);
      } else {
        ops.store_kv(cache.kv(), i, k, v);
      }
      ops.attention(attended, q, cache.kv(), i, config_.heads, attention_scale(config_),
                    layer.window);
      layer.output.add(ops, h, attended);
      ops.rms_norm(x, h, *layer.mlp_norm, eps, norm_kind());
      layer.mlp.add(ops, h, x, scratch);
    }
    return finished(ops, h, wanted);
  }

 private:
  std::vector<Layer> layers_;
  Rope rope_;
};

}  // namespace

std::unique_ptr<Model> load_llama(const ModelConfig& config, WeightOps& ops,
                                  WeightSource& weights) {
  return std::make_unique<Llama>(config, ops, weights);
}

}  // namespace counterbeam
