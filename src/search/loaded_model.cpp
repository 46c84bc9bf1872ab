#include "search/loaded_model.h"

#include "base/error.h"
#include "engine/local_engine.h"
#include "model/hub.h"
#include "text/chat_template.h"

namespace counterbeam {
namespace {

LocalOptions engine_options(const LoadOptions& options, const Tokenizer& tokenizer) {
  LocalOptions local;
  local.device = options.device;
  if (options.dtype == "f32") local.precision = Precision::F32;
  if (options.dtype == "bf16") local.precision = Precision::Bf16;
  local.threads = options.threads;
  local.cache_bytes = options.cache_bytes;
  local.show_progress = options.progress;
  local.vocab_limit = tokenizer.id_limit();
  if (tokenizer.named().eos) local.tokenizer_eos = tokenizer.find(*tokenizer.named().eos);
  return local;
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
  auto engine = LocalEngine::load(folder, engine_options(options, tokenizer));
  return {folder.filename().string(), std::move(tokenizer), std::move(chat), std::move(chat_error),
          std::move(engine)};
}

Prompts LoadedModel::prompts(const Question& question, const Settings& settings) const {
  if (!question.raw && !chat_) throw Error(ErrorKind::BadInput, chat_error_);
  return build_prompts(question, settings, chat_.get(), tokenizer_);
}

std::string LoadedModel::text(std::span<const TokenId> tokens) const {
  return tokenizer_.decode(tokens, {.skip_special = true});
}

std::string LoadedModel::token_text(TokenId token) const {
  return tokenizer_.decode(std::span(&token, 1), {.skip_special = false});
}

}  // namespace counterbeam
