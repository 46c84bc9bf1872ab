// Reads the four pipelines of tokenizer.json: normalizer, pre_tokenizer, post_processor, decoder.
// Throws an Error that names any unsupported type or value.
#pragma once

#include "text/json_field.h"
#include "text/tokenizer_parts.h"

namespace counterbeam {

// Each adds the steps that the field describes; a null field means the default.
void read_normalizer(const JsonField& field, Normalizer& normalizer);
void read_pre_tokenizer(const JsonField& field, PreTokenizer& pre_tokenizer);
void read_detokenizer(const JsonField& field, Detokenizer& detokenizer);
void read_post_processor(const JsonField& field,
                         std::vector<Tokenizer::Parts::TemplateItem>& items);

}  // namespace counterbeam
