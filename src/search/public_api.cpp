// The public interface over the rooms behind it.
#include "search/loaded_model.h"
#include "search/score_answer.h"
#include "search/search.h"

namespace counterbeam {

struct LanguageModel::Parts {
  LoadedModel model;
};

LanguageModel::LanguageModel(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
LanguageModel::~LanguageModel() = default;
LanguageModel::LanguageModel(LanguageModel&&) noexcept = default;
LanguageModel& LanguageModel::operator=(LanguageModel&&) noexcept = default;

LanguageModel LanguageModel::load(const std::string& name, const LoadOptions& options) {
  return LanguageModel(std::make_unique<Parts>(Parts{LoadedModel::load(name, options)}));
}

Answer LanguageModel::ask(const std::string& question, const AskOptions& options) const {
  const LoadedModel& model = parts_->model;
  const Settings settings = parse_method(options.method);
  const Prompts prompts = model.prompts({question, options.system, options.raw, "{}"}, settings);
  SearchHooks hooks;
  if (options.on_block)
    hooks.on_block = [&](const BlockReport& report) {
      options.on_block({report.block, report.blocks, report.alive, report.finished, report.best,
                        model.text(report.agreed)});
    };
  // Samples vote with their whole text; who wants another vote extracts answers
  // himself.
  hooks.vote = [&](const std::vector<TokenId>& tokens) { return model.text(tokens); };
  const SearchResult result = run_search(
      {model.engine(), prompts, options.seed, options.question, nullptr}, settings, hooks);
  const Candidate& answer = result.answer();
  return {model.text(answer.tokens),
          answer.tokens,
          answer.score,
          answer.ended,
          result.ledger.generated_tokens,
          result.ledger.scored_tokens,
          result.ledger.prompt_tokens,
          result.ledger.cached_tokens,
          result.ledger.seconds};
}

std::vector<TokenScore> LanguageModel::score(const std::string& question, const std::string& answer,
                                             const ScoreOptions& options) const {
  const LoadedModel& model = parts_->model;
  Settings settings = default_settings(Method::Cbs);
  settings.contexts = options.contexts;
  settings.positive = options.positive;
  settings.negative = options.negative;
  validate(settings);
  const Prompts prompts = model.prompts({question, options.system, options.raw, "{}"}, settings);
  const Candidate scored = score_answer({model.engine(), prompts, 0, 0, nullptr},
                                        model.tokenizer().encode(answer), settings.steer);
  std::vector<TokenScore> tokens;
  for (std::size_t i = 0; i < scored.tokens.size(); ++i) {
    TokenScore& token = tokens.emplace_back();
    token.token = scored.tokens[i];
    token.text = model.token_text(token.token);
    token.base = scored.logprobs.base[i];
    if (prompts.contrast()) {
      token.positive = scored.logprobs.positive[i];
      token.negative = scored.logprobs.negative[i];
    }
  }
  return tokens;
}

}  // namespace counterbeam
