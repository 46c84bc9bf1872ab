// The tensors a checkpoint of a given config must hold: names and shapes. Names are those of a
// plain text checkpoint ("model.layers.0..."); a wrapped one has another prefix before its body.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"
#include "tensor/checkpoint.h"

namespace counterbeam {

struct ExpectedTensor {
  std::string name;
  Shape shape;
};

// In the order of the forward pass. No lm_head.weight where it is tied.
std::vector<ExpectedTensor> expected_tensors(const ModelConfig& config,
                                             std::string_view prefix = "model.");

// What stands before "embed_tokens.weight" in this checkpoint: "model.", "model.language_model.",
// "language_model.model." or "". An Error where none of them does.
std::string body_prefix(const Checkpoint& checkpoint);

// The output layer beside that body; "lm_head.weight" where both spellings are absent.
std::string lm_head_name(const Checkpoint& checkpoint);

// Every number of the model once: a tied output layer does not count twice.
std::int64_t parameter_count(const ModelConfig& config);

// True for tensors that belong to parts we do not run (vision, multi-token prediction) or that can
// be computed (rotary buffers, a tied output layer).
bool is_known_extra(const ModelConfig& config, std::string_view name);

// How a checkpoint fits a config, one line for each thing that does not.
struct CheckpointFit {
  std::vector<std::string> problems;    // missing tensors, other shapes, dtypes without numbers
  std::vector<std::string> unexpected;  // names that are not known extras
};
CheckpointFit fit_checkpoint(const Checkpoint& checkpoint, const ModelConfig& config);

}  // namespace counterbeam
