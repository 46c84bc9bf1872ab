#include "search/loaded_model.h"

#include "base/error.h"
#include "engine/local_engine.h"
#include "model/hub.h"
#include "search/engine_options.h"
#include "text/chat_template.h"

namespace counterbeam {
namespace {

// What the engine takes from the tokenizer: ids it has no text for are never drawn.
LocalOptions with_tokenizer(LocalOptions options, const Tokenizer& tokenizer) {
  options.vocab_limit = tokenizer.id_limit();
  if (tokenizer.named().eos) options.tokenizer_eos = tokenizer.find(*tokenizer.named().eos);
  return options;
}

}  // namespace

LoadedModel::LoadedModel(std::string name, Tokenizer tokenizer, std::unique_ptr<ChatTemplate> chat,
                         std::string chat_error, std::unique_ptr<Engine> engine)
    : name_(std::move(name)),
      tokenizer_(std::move(tokenizer)),
      chat_(std::move(chat)),
      chat_error_(std::move(chat_error)),
      engine_(std::move(engine)) {}

LoadedModel::~LoadedModel() = default;
LoadedModel::LoadedModel(LoadedModel&&) noexcept = default;
LoadedModel& LoadedModel::operator=(LoadedModel&&) noexcept = default;

LoadedModel LoadedModel::load(const std::string& name, const LoadOptions& options) {
  const std::filesystem::path folder = find_model_or_shipped(name);
  Tokenizer tokenizer = Tokenizer::load(folder);
  std::unique_ptr<ChatTemplate> chat;
  std::string chat_error;
  try {
    chat = std::make_unique<ChatTemplate>(ChatTemplate::load(folder));
  } catch (const Error& error) {
    chat_error = error.what();  // only a question that needs the template fails
  }
  auto engine = LocalEngine::load(folder, with_tokenizer(engine_options(options), tokenizer));
  return {folder.filename().string(), std::move(tokenizer), std::move(chat), std::move(chat_error),
          std::move(engine)};
}

Prompts LoadedModel::prompts(const Question& question, const Settings& settings) const {
  std::optional<ContextPair> pair;
  if (uses_contexts(settings)) pair = chosen_contexts(settings);
  return prompts(question, pair, settings.joiner);
}

Prompts LoadedModel::prompts(const Question& question, const std::optional<ContextPair>& pair,
                             std::string_view joiner) const {
  if (!question.raw && !chat_) throw BadInput(chat_error_);
  return build_prompts(question, pair, joiner, chat_.get(), tokenizer_);
}

std::string LoadedModel::text(std::span<const TokenId> tokens) const {
  return tokenizer_.decode(tokens, {.skip_special = true});
}

std::string LoadedModel::token_text(TokenId token) const {
  return tokenizer_.decode(std::span(&token, 1), {.skip_special = false});
}

}  // namespace counterbeam
