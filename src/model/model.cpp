#include "model/model.h"

#include "base/error.h"

namespace counterbeam {

void Model::load_ends(WeightOps& ops, WeightSource& weights) {
  const auto table = [&](const char* name) {
    const WeightSource::Rows rows[] = {{name, config_.vocab}};
    return weights.pack(ops, rows, config_.hidden);
  };
  embedding_ = table("embed_tokens.weight");
  weights.done();
  if (!config_.tied) head_ = table("lm_head.weight");
  const TensorView norm = weights.get("norm.weight", {config_.hidden});
  norm_ = ops.upload({&norm, 1});
  weights.done();
}

Matrix Model::embedded(PassOps& ops, const Batch& batch) const {
  ops.begin(batch);
  const Matrix h = ops.matrix(static_cast<int>(batch.ids.size()), config_.hidden);
  ops.embed(h, *embedding_, config_.embedding_scale);
  return h;
}

Matrix Model::finished(PassOps& ops, Matrix h, std::span<const int> wanted) const {
  const Matrix last = ops.matrix(static_cast<int>(wanted.size()), config_.hidden);
  if (wanted.empty()) return last;
  ops.gather(last, h, wanted);
  const Matrix normed = ops.matrix(last.rows, last.width);
  ops.rms_norm(normed, last, *norm_, config_.rms_norm_eps, norm_kind());
  return normed;
}

std::unique_ptr<Model> load_model(const ModelConfig& config, WeightOps& ops,
                                  WeightSource& weights) {
  switch (config.architecture) {
    case Architecture::Gemma3:
      return load_gemma3(config, ops, weights);
    case Architecture::Llama:
    case Architecture::Mistral:
    case Architecture::Phi3:
    case Architecture::SmolLm3:
    case Architecture::Qwen2:
    case Architecture::Qwen3:
      return load_llama(config, ops, weights);
    case Architecture::Qwen35:
      return load_qwen3_5(config, ops, weights);
  }
  broken_invariant("a known architecture", __FILE__, __LINE__);
}

CacheShape cache_shape(const ModelConfig& config, CacheType type) {
  CacheShape shape;
  if (config.attention_layers() > 0) {
    shape.kv = {config.attention_layers(), config.kv_heads, config.head_dim, type};
  }
  if (config.delta_layers() > 0) {
    shape.state = {.layers = config.delta_layers(),
                   .key_heads = config.delta.key_heads,
                   .value_heads = config.delta.value_heads,
                   .key_dim = config.delta.key_dim,
                   .value_dim = config.delta.value_dim,
                   .conv_width = config.delta.conv_width};
  }
  return shape;
}

}  // namespace counterbeam
