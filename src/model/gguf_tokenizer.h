// The tokenizer, end tokens and chat template of a model in GGUF: the keys tokenizer.*.
#pragma once

#include <vector>

#include "tensor/gguf_checkpoint.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace counterbeam {

// All throw an Error that names the file and the key.
Tokenizer read_gguf_tokenizer(const GgufCheckpoint& checkpoint);
ChatTemplate read_gguf_template(const GgufCheckpoint& checkpoint);
std::vector<TokenId> gguf_end_tokens(const GgufCheckpoint& checkpoint);

}  // namespace counterbeam
