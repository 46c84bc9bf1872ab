#include "model/model_source.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/quote.h"
#include "model/gguf_model.h"
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

TurnEnd turn_end_of(const ModelParts& parts) {
  if (!parts.chat_template) return {std::nullopt, "", "there is no chat template"};
  if (!parts.tokenizer) return {std::nullopt, "", "there is no tokenizer"};
  TurnEnd end = find_turn_end(*parts.chat_template, *parts.tokenizer);
  if (end.token && *end.token >= parts.config.vocab)
    return {std::nullopt, "",
            fmt::format("the chat template writes {}, which has no row in the model's vocabulary",
                        in_quotes(end.text))};
  return end;
}

// Fills in what follows from the config and the tokenizer.
void read_rest(const ModelSource& source, ModelParts& parts) {
  std::optional<TokenId> tokenizer_eos;
  if (parts.tokenizer)
    if (const auto& eos = parts.tokenizer->named().eos) tokenizer_eos = parts.tokenizer->find(*eos);
  parts.eos = source.eos(parts.config, tokenizer_eos);
  for (const TokenId id : parts.eos)
    if (id >= parts.config.vocab)
      bad_input(
          "{}: the end token {} (eos_token_id) is not in the vocabulary of {} (vocab_size), so no "
          "answer would end; correct config.json, generation_config.json or the tokenizer",
          source.location(), id, parts.config.vocab);
  try {
    parts.chat_template = source.chat_template();
  } catch (const BadInput& error) {  // a template that cannot be read now is not an absent one
    parts.chat_error = error.what();
  }
  parts.turn_end = turn_end_of(parts);
}

}  // namespace

std::unique_ptr<ModelSource> open_model(const std::string& name) {
  if (is_gguf_name(name)) return std::make_unique<GgufModel>(name);
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
  }
  read_rest(source, parts);
  return parts;
}

ModelParts read_text_parts(const ModelSource& source) {
  ModelParts parts;
  parts.tokenizer = source.tokenizer();
  bool known = true;
  try {
    parts.config = source.config();
  } catch (const BadInput&) {  // a config that cannot be read (Failed) is not an unknown one
    known = false;
    parts.config.vocab = parts.tokenizer->id_limit();
  }
  if (known) check_tokenizer(*parts.tokenizer, parts.config, source.location());
  read_rest(source, parts);
  return parts;
}

StopAt stop_at_named(std::string_view name) {
  if (name == "turn") return StopAt::Turn;
  if (name == "eos") return StopAt::Eos;
  bad_input("--stop-at: {} is not known; allowed: turn, eos", in_quotes(name));
}

std::vector<TokenId> end_tokens(const ModelParts& parts, StopAt stop_at) {
  std::vector<TokenId> ids = parts.eos;
  const std::optional<TokenId>& turn = parts.turn_end.token;
  if (stop_at == StopAt::Turn && turn) ids.push_back(*turn);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace counterbeam
