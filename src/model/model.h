// A model: weights and one forward pass over the rows of a batch, written against the operations of
// a back end. It keeps no state between passes; keys, values and recurrent states are in the cache.
#pragma once

#include <memory>
#include <span>

#include "backend/ops.h"
#include "cache/cache.h"
#include "model/config.h"
#include "model/weights.h"

namespace counterbeam {

inline NormKind norm_kind(const ModelConfig& config) {
  return config.zero_centred_norm ? NormKind::ZeroCentred : NormKind::Plain;
}

class Model {
 public:
  virtual ~Model() = default;

  // Runs the batch through every layer and returns the final hidden states of the rows `wanted`
  // [wanted, hidden], after the last norm and ready for the head. Valid until the next pass.
  virtual Matrix forward(PassOps& ops, const Batch& batch, Cache& cache,
                         std::span<const int> wanted) const = 0;

  const ModelConfig& config() const { return config_; }
  const PackedMatrix& head() const { return head_ ? *head_ : *embedding_; }  // [vocab, hidden]
  // Bytes of an embedding table beside the head: no step reads it as a whole.
  std::int64_t lookup_bytes() const { return head_ ? embedding_->bytes : 0; }

 protected:
  explicit Model(const ModelConfig& config) : config_(config) {}
  void load_ends(WeightOps& ops, WeightSource& weights);
  Matrix embedded(PassOps& ops, const Batch& batch) const;  // starts the pass: [rows, hidden]
  Matrix finished(PassOps& ops, Matrix h, std::span<const int> wanted) const;
  NormKind norm_kind() const { return counterbeam::norm_kind(config_); }

  ModelConfig config_;

 private:
  std::unique_ptr<PackedMatrix> embedding_;  // [vocab, hidden]
  std::unique_ptr<PackedMatrix> head_;       // [vocab, hidden]; null if tied
  std::unique_ptr<Vector> norm_;             // [hidden]
};

std::unique_ptr<Model> load_gemma3(const ModelConfig& config, WeightOps& ops,
                                   WeightSource& weights);
// Llama and its kin: Mistral, Phi-3, SmolLM3, Qwen2, Qwen3.
std::unique_ptr<Model> load_llama(const ModelConfig& config, WeightOps& ops, WeightSource& weights);
std::unique_ptr<Model> load_qwen3_5(const ModelConfig& config, WeightOps& ops,
                                    WeightSource& weights);

// Loads the model of the config's architecture.
std::unique_ptr<Model> load_model(const ModelConfig& config, WeightOps& ops, WeightSource& weights);

// The shape of the cache for the model's sequences.
CacheShape cache_shape(const ModelConfig& config, CacheType type = CacheType::Plain);

}  // namespace counterbeam
