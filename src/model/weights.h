// Where the weights of a model come from. A model asks for every tensor by its Hugging Face name
// and the shape it expects, and gets exactly that or an Error that says what is wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/weight_ops.h"
#include "base/random.h"
#include "tensor/stored_matrix.h"

namespace counterbeam {

class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // A tensor of plain numbers. Names begin below the decoder ("layers.0.mlp.up_proj.weight"), or
  // with "lm_head." The view is valid until the next call of done(); nothing is read before.
  virtual TensorView get(const std::string& name, const Shape& shape) = 0;
  // A matrix of the model's products, in the format in which it is stored: dense, unless a source
  // says otherwise. Valid as long as a view.
  virtual StoredMatrix matrix(const std::string& name, int out, int in) {
    return get(name, {out, in});
  }
  // Several matrices [out, in] stacked into one.
  struct Rows {
    std::string name;
    int out;
  };
  virtual std::unique_ptr<PackedMatrix> pack(WeightOps& ops, std::span<const Rows> parts, int in);
  // All tensors returned so far have been packed and may be released.
  virtual void done() = 0;

 private:
  // These matrices are about to be packed: a source may prefetch them.
  virtual void will_read(std::span<const Rows>) {}
};

// Called after every layer with the number of bytes read so far.
using LoadProgress = std::function<void(std::int64_t bytes)>;

// The weights of a model source, and what can be said of them as a whole.
class StoredWeights : public WeightSource {
 public:
  struct Extent {
    std::size_t files = 0, tensors = 0;
    std::int64_t bytes = 0;  // of all tensors
  };
  virtual Extent extent() const = 0;
  virtual DType dtype() const = 0;                         // of the embedding table
  virtual bool quantised() const { return false; }         // some matrices, at least
  virtual std::string quantisation() const { return ""; }  // "awq, 4 bits in groups of 128"
  // Names of tensors that the model has not asked for and that are not known to be useless.
  virtual std::vector<std::string> unexpected() const = 0;
  // The first value that is NaN or infinite among those released by done(), as "tensor NAME,
  // element 7 of 4096, is nan"; empty if there is none.
  virtual std::string non_finite() const { return ""; }
};

// Random weights at the scale of an untrained model, for benchmarks. The back end generates the
// matrices.
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
