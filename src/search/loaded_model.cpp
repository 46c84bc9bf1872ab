#include "search/loaded_model.h"

#include "base/error.h"
#include "engine/local_engine.h"
#include "search/engine_options.h"
#include "search/remote_model.h"

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
  std::unique_ptr<ModelSource> source = open_model(name);
  if (!options.engine.empty()) {
    ModelParts parts = read_text_parts(*source);
    ConnectedModel connected = connect_model(source->name(), parts, options);
    LoadedModel model(std::move(source), std::move(parts), std::move(connected.engine));
    model.warnings_ = model.tokenizer().warnings();
    for (std::string& warning : connected.warnings) model.warnings_.push_back(std::move(warning));
    return model;
  }
  ModelParts parts = read_parts(*source);
  if (!parts.tokenizer) parts.tokenizer = source->tokenizer();  // throws: says what is missing
  LocalOptions local = engine_options(options);
  local.vocab_limit = parts.tokenizer->id_limit();  // ids without a text are never drawn
  // Beams of a search elsewhere come as prompts: 16 of them under three prompts, twice over.
  local.kept_prefixes = 128;
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
  const bool remote = dynamic_cast<const RemoteEngine*>(engine_.get()) != nullptr;
  if (!fingerprint_) fingerprint_ = remote ? source_->text_fingerprint() : source_->fingerprint();
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
