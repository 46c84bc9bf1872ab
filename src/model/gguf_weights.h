// The weights of a model in GGUF. Matrices are given as they are stored, plain numbers or blocks,
// with the order of their rows and columns. Nothing of them is read or copied.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/weights.h"
#include "tensor/gguf_checkpoint.h"

namespace counterbeam {

class GgufWeights : public StoredWeights {
 public:
  // Throws an Error if the file has tensors of a layer that its metadata does not have.
  GgufWeights(GgufCheckpoint checkpoint, ModelConfig config, LoadProgress progress = {});

  TensorView get(const std::string& name, const Shape& shape) override;
  StoredMatrix matrix(const std::string& name, int out, int in) override;
  void done() override;
  Extent extent() const override;
  DType dtype() const override;
  bool quantised() const override;
  std::string quantisation() const override;  // "gguf Q4_K, Q6_K", by falling size
  std::vector<std::string> unexpected() const override;
  std::string non_finite() const override { return non_finite_; }

 private:
  void refuse_unknown_layers() const;
  void will_read(std::span<const Rows> parts) override;
  const GgufTensor& find(const std::string& name, const Shape& shape);
  void look_for_non_finite(const GgufTensor& tensor);

  GgufCheckpoint checkpoint_;
  ModelConfig config_;
  int draft_layers_;
  LoadProgress progress_;
  std::set<std::string, std::less<>> used_;
  std::vector<std::string> pending_;  // given out since the last done()
  std::deque<Tensor> tensors_;        // vectors that had to be decoded, since the last done()
  std::deque<std::vector<std::int32_t>> orders_;  // of the matrices since the last done()
  std::int64_t bytes_done_ = 0;
  std::string non_finite_;
};

}  // namespace counterbeam
