// The weights of a Hugging Face folder: safetensors with the tensor names of transformers, below
// one of the prefixes that text models and the text part of multimodal ones use. Matrices may be
// quantised (quant_tensors.h); all other parameters are plain.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/quant_tensors.h"
#include "model/weights.h"
#include "tensor/checkpoint.h"

namespace counterbeam {

// What stands before "embed_tokens.weight" and all other names of the decoder: "model.". Throws an
// Error if there is no embedding table under a prefix that is known.
std::string decoder_prefix(const Checkpoint& checkpoint);

class CheckpointWeights : public StoredWeights {
 public:
  // Throws an Error if the checkpoint has no embedding table under a prefix that is known, or has
  // tensors of a layer that the config does not have.
  CheckpointWeights(Checkpoint checkpoint, const ModelConfig& config, LoadProgress progress = {});

  TensorView get(const std::string& name, const Shape& shape) override;
  StoredMatrix matrix(const std::string& name, int out, int in) override;
  void done() override;
  Extent extent() const override;
  DType dtype() const override;
  bool quantised() const override { return quantised_.has_value(); }
  std::string quantisation() const override { return quantised_ ? quantised_->description() : ""; }
  std::vector<std::string> unexpected() const override;
  std::string non_finite() const override { return non_finite_; }

 private:
  void refuse_unknown_layers(int layers) const;
  void will_read(std::span<const Rows> parts) override;
  std::string full_name(const std::string& name) const;
  QuantTensors quant_tensors() const { return {checkpoint_, quantised_}; }
  bool is_known_extra(std::string_view name) const;

  bool is_unused_bias(std::string_view name, const TensorView& view) const;

  Checkpoint checkpoint_;
  bool tied_;
  std::optional<QuantConfig> quantised_;
  std::string prefix_;
  LoadProgress progress_;
  std::set<std::string> used_;
  std::vector<std::string> pending_;  // given out since the last done()
  std::size_t hinted_ = 0;            // of them prefetched
  std::int64_t bytes_done_ = 0;
  std::string non_finite_;
};

}  // namespace counterbeam
