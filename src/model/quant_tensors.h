// The quantised matrices of a Hugging Face checkpoint: finds the tensors of a module by their
// names, checks that dtypes and shapes fit the model and each other, and describes them as a
// ScaledMatrix. Reads no weights but the order of groups, whose values are checked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/quant_config.h"
#include "tensor/checkpoint.h"
#include "tensor/stored_matrix.h"

namespace counterbeam {

class QuantTensors {
 public:
  // Both must outlive this.
  QuantTensors(const Checkpoint& checkpoint, const std::optional<QuantConfig>& config)
      : checkpoint_(checkpoint), config_(config) {}

  // Whether the module ("model.layers.0.mlp.up_proj") has quantised tensors. If not, its weights
  // are the plain tensor MODULE.weight.
  bool has(const std::string& module) const;

  // Throws an Error if a module that has no quantised tensors has a scale.
  void check_plain(const std::string& module) const;

  // The matrix of such a module, and the names of its tensors. Throws an Error that names the
  // tensor. REQUIRES has(module).
  StoredMatrix read(const std::string& module, int out, int in,
                    std::vector<std::string>& names) const;

 private:
  bool fits(const std::string& module, const QuantScheme& scheme, int out, int in) const;

  const Checkpoint& checkpoint_;
  const std::optional<QuantConfig>& config_;
};

}  // namespace counterbeam
