// The config of a model in GGUF, from its metadata and the names and shapes of its tensors
// (docs/formats.md). Sizes have the bounds of config.json.
#pragma once

#include "model/config.h"
#include "tensor/gguf_checkpoint.h"

namespace counterbeam {

ModelConfig read_gguf_config(const GgufCheckpoint& checkpoint);

// Whether the rows of the query and key heads are stored in pairs (2a + b for row a + b d/2): the
// architectures for which llama.cpp rotates neighbours instead of halves.
bool has_paired_heads(Architecture architecture);

// The extra layers at the end that predict tokens further ahead. They are not run.
int gguf_draft_layers(const GgufContent& metadata, const std::string& file);

}  // namespace counterbeam
