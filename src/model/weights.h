// Where the numbers of a model come from: a checkpoint, or random ones of the right shapes. A model
// asks for every tensor by its Hugging Face name and the shape it expects, and gets exactly that or
// an Error that says what is wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backend/weight_ops.h"
#include "base/random.h"
#include "model/config.h"
#include "tensor/checkpoint.h"
#include "tensor/tensor.h"

namespace counterbeam {

class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // Names begin below the decoder ("layers.0.mlp.up_proj.weight"), or with "lm_head." The view is
  // valid until the next call of done().
  virtual TensorView get(const std::string& name, const Shape& shape) = 0;
  // Several matrices [out, in] stacked into one.
  struct Rows {
    std::string name;
    int out;
  };
  virtual std::unique_ptr<PackedMatrix> pack(WeightOps& ops, std::span<const Rows> parts, int in);
  // What was given out so far has been packed.
  virtual void done() = 0;
};

// Told after every layer how many bytes were read so far.
using LoadProgress = std::function<void(std::int64_t bytes)>;

// The weights of a model source, and what can be said of them as a whole.
class StoredWeights : public WeightSource {
 public:
  struct Extent {
    std::size_t files = 0, tensors = 0;
    std::int64_t bytes = 0;  // of all tensors
  };
  virtual Extent extent() const = 0;
  virtual DType dtype() const = 0;  // of the embedding table
  // Names of tensors that the model did not ask for so far and that are not known to be useless.
  virtual std::vector<std::string> unexpected() const = 0;
};

// The safetensors files of a Hugging Face folder.
class CheckpointWeights : public StoredWeights {
 public:
  // Throws an Error if the checkpoint has no embedding table.
  CheckpointWeights(Checkpoint checkpoint, const ModelConfig& config, LoadProgress progress = {});

  TensorView get(const std::string& name, const Shape& shape) override;
  void done() override;
  Extent extent() const override;
  DType dtype() const override;
  std::vector<std::string> unexpected() const override;

 private:
  Checkpoint checkpoint_;
  ModelConfig config_;
  std::string prefix_;
  LoadProgress progress_;
  std::set<std::string> used_;
  std::vector<std::string> pending_;
  std::int64_t bytes_done_ = 0;
};

// Random numbers at the scale of a fresh model: what a bench needs. Matrices are made by the back
// end.
class RandomWeights : public WeightSource {
 public:
  explicit RandomWeights(DType dtype, std::uint64_t seed = 1);

  TensorView get(const std::string& name, const Shape& shape) override;
  std::unique_ptr<PackedMatrix> pack(WeightOps& ops, std::span<const Rows> parts, int in) override;
  void done() override { tensors_.clear(); }

 private:
  DType dtype_;
  DrawKey key_;
  std::vector<Tensor> tensors_;
};

}  // namespace counterbeam
