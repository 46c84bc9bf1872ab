// The rotary encoding of a model in GGUF: the keys rope.* of its architecture, and the tensors with
// factors of the frequencies (rope_freqs.weight of Llama 3, rope_factors_long.weight of Phi-3).
#pragma once

#include "model/config.h"
#include "model/gguf_fields.h"
#include "tensor/gguf_checkpoint.h"

namespace counterbeam {

// `name` is the architecture's, as the keys have it. REQUIRES: the sizes of `config` are set
RopeConfig read_gguf_rope(const GgufCheckpoint& checkpoint, const GgufFields& fields,
                          const std::string& name, const ModelConfig& config);

}  // namespace counterbeam
