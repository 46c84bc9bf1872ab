#include "search/loaded_model.h"

#include "base/error.h"
#include "base/quote.h"
#include "engine/local_engine.h"
#include "model/dry_load.h"
#include "search/engine_options.h"
#include "search/remote_model.h"

namespace counterbeam {
namespace {

std::string named_tensors(const std::vector<std::string>& names) {
  const std::string first = in_quotes(names.front());
  return names.size() == 1 ? fmt::format("tensor {}", first)
                           : fmt::format("{} tensors, such as {}", names.size(), first);
}

}  // namespace

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
    if (options.cache_dtype != "auto")
      bad_input("--cache-dtype: the servers of --engine keep their own caches; leave it out");
    if (options.activations != "auto")
      bad_input("--activations: the servers of --engine decide theirs; leave it out");
    ModelParts parts = read_text_parts(*source);
    ConnectedModel connected = connect_model(source->name(), parts, options);
    LoadedModel model(std::move(source), std::move(parts), std::move(connected.engine));
    model.warnings_ = model.tokenizer().warnings();
    for (std::string& warning : connected.warnings) model.warnings_.push_back(std::move(warning));
    return model;
  }
  ModelParts parts = read_parts(*source);
  const bool int8 = options.activations == "int8";
  if (!parts.tokenizer) parts.tokenizer = source->tokenizer();  // throws: says what is missing
  LocalOptions local = engine_options(options);
  local.vocab_limit = parts.tokenizer->id_limit();  // ids without a text are never drawn
  // Beams of a search elsewhere come as prompts: 16 of them under three prompts, twice over.
  local.kept_prefixes = 128;
  local.eos = end_tokens(parts, stop_at_named(options.stop_at));
  auto engine = LocalEngine::load(*source, local);
  std::vector<std::string> warnings = parts.tokenizer->warnings();
  const std::string weight = engine->non_finite_weight();
  if (!weight.empty())
    warnings.push_back(
        fmt::format("{}: {}; answers that need it are wrong or fail; download the checkpoint again",
                    source->location(), weight));
  if (const auto& unused = engine->unexpected_tensors(); !unused.empty())
    warnings.push_back(
        fmt::format("{}: this model has no use for {}; the weights may be those of another model, "
                    "and the answers worse; counterbeam inspect lists what is not used",
                    source->location(), named_tensors(unused)));
  if (int8 && dry_load(parts.config, *source->weights(parts.config)).int8_elements == 0)
    warnings.push_back(
        "--activations int8 changes nothing: the model has no weights of 8 or 4 bits that are "
        "whole numbers");
  LoadedModel model(std::move(source), std::move(parts), std::move(engine));
  model.warnings_ = std::move(warnings);
  model.non_finite_weight_ = weight;
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
