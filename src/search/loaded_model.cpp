#include "search/loaded_model.h"

#include "base/error.h"
#include "engine/local_engine.h"
#include "search/engine_options.h"

namespace counterbeam {

LoadedModel::LoadedModel(std::unique_ptr<ModelSource> source, ModelParts parts,
                         std::unique_ptr<Engine> engine)
    : source_(std::move(source)),
      name_(source_->name()),
      ships_(source_->ships()),
      parts_(std::move(parts)),
      engine_(std::move(engine)) {}

LoadedModel::~LoadedModel() = default;
LoadedModel::LoadedModel(LoadedModel&&) noexcept = default;
LoadedModel& LoadedModel::operator=(LoadedModel&&) noexcept = default;

LoadedModel LoadedModel::load(const std::string& name, const LoadOptions& options) {
  if (!options.engine.empty())
    failed("--engine {}: this build has no remote engine yet", options.engine);
  std::unique_ptr<ModelSource> source = open_model(name);
  ModelParts parts = read_parts(*source);
  if (!parts.tokenizer) parts.tokenizer = source->tokenizer();  // throws: says what is missing
  LocalOptions local = engine_options(options);
  local.vocab_limit = parts.tokenizer->id_limit();  // ids without a text are never drawn
  local.eos = end_tokens(parts, stop_at_named(options.stop_at));
  auto engine = LocalEngine::load(*source, local);
  std::vector<std::string> warnings = parts.tokenizer->warnings();
  if (const std::string& weight = engine->non_finite_weight(); !weight.empty())
    warnings.push_back(
        fmt::format("{}: {}; answers that need it will fail; download the checkpoint again",
                    source->location(), weight));
  LoadedModel model(std::move(source), std::move(parts), std::move(engine));
  model.warnings_ = std::move(warnings);
  return model;
}

const ModelFingerprint& LoadedModel::fingerprint() const {
  if (!fingerprint_) fingerprint_ = source_->fingerprint();
  return *fingerprint_;
}

Prompts LoadedModel::prompts(const Question& question, const Settings& settings) const {
  std::optional<ContextPair> pair;
  if (uses_contexts(settings)) pair = chosen_contexts(settings);
  return prompts(question, pair, settings.joiner);
}

Prompts LoadedModel::prompts(const Question& question, const std::optional<ContextPair>& pair,
                             std::string_view joiner) const {
  if (!question.raw && !parts_.chat_template) throw BadInput(parts_.chat_error);
  const ChatTemplate* chat = parts_.chat_template ? &*parts_.chat_template : nullptr;
  return build_prompts(question, pair, joiner, chat, tokenizer());
}

std::string LoadedModel::text(std::span<const TokenId> tokens) const {
  return tokenizer().decode(tokens, {.skip_special = true});
}

std::string LoadedModel::token_text(TokenId token) const {
  return tokenizer().decode(std::span(&token, 1), {.skip_special = false});
}

}  // namespace counterbeam
