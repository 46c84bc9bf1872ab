// Llama and its kin, which differ from it by a switch each: Mistral (a window), Phi-3 (a window, q,
// k and v in one tensor, gate and up too), SmolLM3 (layers without rope), Qwen2 (biases on q, k and
// v), Qwen3 (a norm on every query and key head).
#include "model/decoder.h"

namespace counterbeam {
namespace {

struct LlamaLayer {
  std::unique_ptr<Vector> input_norm;  // [hidden]
  Attention attention;
  std::unique_ptr<Vector> mlp_norm;  // [hidden]
  Mlp mlp;
};

LlamaLayer load_llama_layer(WeightOps& ops, WeightSource& weights, const ModelConfig& config,
                            int i) {
  const auto norm = [&](const char* name) {
    return load_vector(ops, weights, layer_name(i, name), {config.hidden});
  };
  LlamaLayer layer;
  layer.input_norm = norm("input_layernorm.weight");
  layer.attention = Attention::load(ops, weights, config, i);
  layer.mlp_norm = norm("post_attention_layernorm.weight");
  layer.mlp = Mlp::load(ops, weights, config, i);
  weights.done();
  return layer;
}

class Llama : public Model {
 public:
  Llama(const ModelConfig& config, WeightOps& ops, WeightSource& weights)
      : Model(config), rope_(make_rope(config.rope)) {
    load_ends(ops, weights);
    for (int i = 0; i < config.layer_count(); ++i) {
      layers_.push_back(load_llama_layer(ops, weights, config, i));
    }
  }

  Matrix forward(PassOps& ops, const Batch& batch, Cache& cache,
                 std::span<const int> wanted) const override {
    const float eps = config_.rms_norm_eps;
    const Matrix h = embedded(ops, batch);         // [rows, hidden]
    const Matrix x = ops.matrix(h.rows, h.width);  // [rows, hidden]
    const Attention::Scratch heads = Attention::scratch(ops, config_, h.rows);
    const Mlp::Scratch inner = Mlp::scratch(ops, config_, h.rows);
    for (int i = 0; i < config_.layer_count(); ++i) {
      const LlamaLayer& layer = layers_[static_cast<std::size_t>(i)];
      const bool turns = config_.layers[static_cast<std::size_t>(i)].rope;
      ops.rms_norm(x, h, *layer.input_norm, eps, norm_kind());
      layer.attention.attend(ops, x, heads, config_, i, turns ? &rope_ : nullptr, cache);
      layer.attention.output.add(ops, h, heads.attended);
      ops.rms_norm(x, h, *layer.mlp_norm, eps, norm_kind());
      layer.mlp.add(ops, h, x, inner);
    }
    return finished(ops, h, wanted);
  }

 private:
  std::vector<LlamaLayer> layers_;
  Rope rope_;
};

}  // namespace

std::unique_ptr<Model> load_llama(const ModelConfig& config, WeightOps& ops,
                                  WeightSource& weights) {
  return std::make_unique<Llama>(config, ops, weights);
}

}  // namespace counterbeam
