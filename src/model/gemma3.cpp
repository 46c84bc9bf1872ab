// Gemma 3 (text): scaled embeddings; a norm before and after attention and before and after the
// MLP, all zero-centred; norms on query and key heads; gelu. Layers with a window have a rope of
// their own.
#include "model/decoder.h"

namespace counterbeam {
namespace {

struct GemmaLayer {
  std::unique_ptr<Vector> input_norm, attended_norm;  // [hidden], before and after attention
  std::unique_ptr<Vector> mlp_norm, output_norm;      // [hidden], before and after the MLP
  Attention attention;
  Mlp mlp;
};

GemmaLayer load_gemma_layer(WeightOps& ops, WeightSource& weights, const ModelConfig& config,
                            int i) {
  const auto norm = [&](const char* name) {
    return load_vector(ops, weights, layer_name(i, name), {config.hidden});
  };
  GemmaLayer layer;
  layer.input_norm = norm("input_layernorm.weight");
  layer.attention = Attention::load(ops, weights, config, i);
  layer.attended_norm = norm("post_attention_layernorm.weight");
  layer.mlp_norm = norm("pre_feedforward_layernorm.weight");
  layer.mlp = Mlp::load(ops, weights, config, i);
  layer.output_norm = norm("post_feedforward_layernorm.weight");
  weights.done();
  return layer;
}

class Gemma3 : public Model {
 public:
  Gemma3(const ModelConfig& config, WeightOps& ops, WeightSource& weights)
      : Model(config),
        rope_(make_rope(config.rope)),
        window_rope_(make_rope(config.window_rope.value_or(config.rope))) {
    load_ends(ops, weights);
    for (int i = 0; i < config.layer_count(); ++i) {
      layers_.push_back(load_gemma_layer(ops, weights, config, i));
    }
  }

  Matrix forward(PassOps& ops, const Batch& batch, Cache& cache,
                 std::span<const int> wanted) const override {
    const float eps = config_.rms_norm_eps;
    const Matrix h = embedded(ops, batch);         // [rows, hidden]
    const Matrix x = ops.matrix(h.rows, h.width);  // [rows, hidden]
    const Matrix y = ops.matrix(h.rows, h.width);  // [rows, hidden], to be added to h
    const Attention::Scratch heads = Attention::scratch(ops, config_, h.rows);
    const Mlp::Scratch inner = Mlp::scratch(ops, config_, h.rows);
    for (int i = 0; i < config_.layer_count(); ++i) {
      const GemmaLayer& layer = layers_[static_cast<std::size_t>(i)];
      const bool window = config_.layers[static_cast<std::size_t>(i)].window > 0;
      ops.rms_norm(x, h, *layer.input_norm, eps, norm_kind());
      layer.attention.attend(ops, x, heads, config_, i, window ? &window_rope_ : &rope_, cache);
      layer.attention.output.apply(ops, y, heads.attended);
      ops.rms_norm(y, y, *layer.attended_norm, eps, norm_kind());
      ops.add(h, y);
      ops.rms_norm(x, h, *layer.mlp_norm, eps, norm_kind());
      layer.mlp.apply(ops, y, x, inner);
      ops.rms_norm(y, y, *layer.output_norm, eps, norm_kind());
      ops.add(h, y);
    }
    return finished(ops, h, wanted);
  }

 private:
  std::vector<GemmaLayer> layers_;
  Rope rope_, window_rope_;  // of layers that see everything, and of those with a window
};

}  // namespace

std::unique_ptr<Model> load_gemma3(const ModelConfig& config, WeightOps& ops,
                                   WeightSource& weights) {
  return std::make_unique<Gemma3>(config, ops, weights);
}

}  // namespace counterbeam
