// What a quantised folder will hold, decided before a weight is read: which matrices become codes
// and how, every tensor of every file with its place, and quantization_config. The same source and
// options give the same plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/config.h"
#include "quantise/coded_matrix.h"
#include "tensor/checkpoint.h"

namespace counterbeam {

struct PlannedTensor {
  std::string name = {};                    // in the source
  std::optional<MatrixScheme> scheme = {};  // none: copied as it is
  // Where in the file it goes. Codes, scales and, for integers, the shape; or the copy alone.
  std::vector<std::size_t> offsets = {};
};

// A file of the source and the one of the same name that is made of it.
struct PlannedShard {
  std::string file = {};
  std::vector<PlannedTensor> tensors = {};
  std::vector<std::string> names = {};  // of the tensors in the new file
  SafetensorsLayout layout = {};
};

struct QuantisePlan {
  std::vector<PlannedShard> shards;
  std::string prefix;        // of the decoder's names: "model."
  Json quantization_config;  // for config.json
  int matrices = 0;          // that become codes
  int narrower = 0;          // of them with smaller groups than asked for, or one scale per row
  std::int64_t tensor_bytes = 0;  // of the new tensors

  std::int64_t file_bytes() const;
};

// Groups of `group` inputs share a scale; where the width is no multiple, groups of 64 or 32 (no
// larger than `group`), or else all inputs of a row. FP8 has a scale per row. The output layer, the
// embeddings, everything that is no matrix of the decoder's layers and the gates of DeltaNet
// (in_proj_a, in_proj_b: a few rows that decide how long a state is kept) stay dense.
QuantisePlan make_plan(const Checkpoint& checkpoint, const ModelConfig& config, CodeFormat format,
                       int group);

// The scheme of a matrix of that width.
MatrixScheme scheme_for(std::int64_t in, CodeFormat format, int group);

// "model.layers.0.mlp.up_proj" of "model.layers.0.mlp.up_proj.weight".
std::string module_of(const std::string& tensor);

}  // namespace counterbeam
