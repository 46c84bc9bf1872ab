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

class CheckpointWeights : public WeightSource {
 public:
  // REQUIRES both to outlive this.
  CheckpointWeights(const Checkpoint& checkpoint, const ModelConfig& config,
                    LoadProgress progress = {});

  TensorView get(const std::string& name, const Shape& shape) override;
  void done() override;

  // Tensors that the model did not ask for and that are not known to be of no use here.
  std::vector<std::string> unexpected() const;

 private:
  const Checkpoint& checkpoint_;
  const ModelConfig& config_;
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
