#include "model/model_source.h"

#include <set>

#include "base/error.h"
#include "model/hub.h"
#include "model/hugging_face.h"

namespace counterbeam {
namespace {

// Every token that a text can turn into must have a row in the embedding table. Added tokens alone
// may lie beyond it: a text model such as Gemma 3 names placeholders of pictures that it has no row
// for. The engine refuses a prompt with such a token.
void check_tokenizer(const Tokenizer& tokenizer, const ModelConfig& config,
                     const std::string& location) {
  std::set<TokenId> added;
  for (const AddedToken& token : tokenizer.added_tokens()) added.insert(token.id);
  for (TokenId id = config.vocab; id < tokenizer.id_limit(); ++id)
    if (tokenizer.token_text(id) && !added.contains(id))
      bad_input(
          "{}: the tokenizer has ids up to {}, but the model has vocab_size {}; they belong to "
          "different models: download the checkpoint again",
          location, tokenizer.id_limit() - 1, config.vocab);
}

}  // namespace

std::unique_ptr<ModelSource> open_model(const std::string& name) {
  std::error_code error;
  // A folder that is given need not hold more than the parts that are asked for.
  const bool given = !name.empty() && std::filesystem::is_directory(name, error);
  return std::make_unique<HuggingFaceFolder>(given ? std::filesystem::path(name)
                                                   : find_model_or_shipped(name));
}

ModelParts read_parts(const ModelSource& source) {
  ModelParts parts;
  parts.config = source.config();
  if (source.has_tokenizer()) {
    parts.tokenizer = source.tokenizer();
    check_tokenizer(*parts.tokenizer, parts.config, source.location());
    if (const auto& eos = parts.tokenizer->named().eos)
      parts.tokenizer_eos = parts.tokenizer->find(*eos);
  }
  parts.eos = source.eos(parts.config, parts.tokenizer_eos);
  try {
    parts.chat_template = source.chat_template();
  } catch (const Error& error) {
    parts.chat_error = error.what();
  }
  return parts;
}

}  // namespace counterbeam
