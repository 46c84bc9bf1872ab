// How byte-level tokenizers split a text, by the names that GGUF files use for it
// (tokenizer.ggml.pre): patterns, and what else the name implies.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/pre_tokenizer.h"

namespace counterbeam {

struct SplitFacts {
  bool nfc = false;            // the text is normalized first
  bool ignore_merges = false;  // a piece that is a token is not merged
  bool add_bos = false;        // where the file does not say
};

std::string known_splits();  // for messages: "qwen2, llama-bpe, ..."

// Adds the steps of the named split. None if the name is not known.
std::optional<SplitFacts> add_named_split(std::string_view name, PreTokenizer& steps);

}  // namespace counterbeam
