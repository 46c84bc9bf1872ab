// The public interface over the rooms behind it.
#include "base/error.h"
#include "base/json.h"
#include "base/parallel_for.h"
#include "search/answer.h"
#include "search/method_strings.h"
#include "search/score_answer.h"

namespace counterbeam {
namespace {

AnswerCandidate public_candidate(const Stops& stops, const Candidate& candidate) {
  return {.text = stops.text(candidate.tokens),
          .tokens = candidate.tokens,
          .score = candidate.score,
          .finished = candidate.ended,
          .base = candidate.sums.base,
          .positive = candidate.sums.positive,
          .negative = candidate.sums.negative};
}

// A pair given beside the method takes the place of the method's own.
template <typename Options>
void give_contexts(GivenMethod& method, const Options& options) {
  const std::pair<const char*, const std::string&> fields[] = {{"contexts", options.contexts},
                                                               {"positive", options.positive},
                                                               {"negative", options.negative}};
  if (options.contexts.empty() && options.positive.empty() && options.negative.empty()) return;
  if (!method.method().find("contexts"))
    bad_input("contexts: {} does not use any", method.method().name);
  for (const auto& [name, value] : fields) {
    method.take_back(name);
    if (!value.empty()) method.give(name, value, name);
  }
}

ContextBook book_of(const std::vector<ContextPair>& pairs) {
  ContextBook book;
  for (const ContextPair& pair : pairs) book.add(pair, fmt::format("pairs: \"{}\"", pair.name));
  return book;
}

Settings settings_of(const AskOptions& options) {
  GivenMethod method(options.method);
  give_contexts(method, options);
  return method.resolve(book_of(options.pairs));
}

Settings settings_of(const ScoreOptions& options) {
  GivenMethod method(default_method().name);
  give_contexts(method, options);
  method.give("steer", fmt::format("{}", options.steer), "steer");
  method.give("contrast", options.contrast, "contrast");
  method.give("aggregate", options.aggregate, "aggregate");
  return method.resolve(book_of(options.pairs));
}

AnswerOptions answer_options(const Stops& stops, const AskOptions& options) {
  AnswerOptions result;
  result.seed = options.seed;
  result.question = options.question;
  result.cancellation = options.cancellation;
  result.keep_partial = options.keep_partial;
  if (options.on_block)
    result.on_block = [&](const BlockReport& report) {
      options.on_block({report.block, report.blocks, report.alive, report.finished, report.best,
                        report.best_text, report.agreed_text});
    };
  if (options.scorer)
    result.scorer = [&](std::span<const Candidate* const> candidates) {
      std::vector<AnswerCandidate> seen;
      for (const Candidate* candidate : candidates)
        seen.push_back(public_candidate(stops, *candidate));
      return options.scorer(seen);
    };
  return result;
}

Answer public_answer(const Stops& stops, AnsweredQuestion answered, bool trace) {
  const SearchResult& result = answered.result;
  const Candidate& chosen = result.answer();
  Answer answer;
  answer.text = std::move(answered.text);
  answer.tokens = chosen.tokens;
  answer.score = chosen.score;
  answer.finished = chosen.ended;
  answer.interrupted = result.interrupted;
  for (const Candidate& candidate : result.pool)
    answer.candidates.push_back(public_candidate(stops, candidate));
  answer.selected = result.selected;
  if (trace) answer.trace = to_line(to_json(result.trace));
  answer.generated_tokens = result.ledger.generated_tokens;
  answer.scored_tokens = result.ledger.scored_tokens;
  answer.prompt_tokens = result.ledger.prompt_tokens;
  answer.cached_tokens = result.ledger.cached_tokens;
  answer.seconds = result.ledger.seconds;
  return answer;
}

Answer asked(const LoadedModel& model, Question question, const Settings& settings,
             const AskOptions& options) {
  question.raw = options.raw;
  question.template_arguments = options.template_arguments;
  question.system_as_user = options.system_as_user;
  question.stop = options.stop;
  question.stop_ids = options.stop_ids;
  if (!options.system.empty()) {
    if (!question.system.empty())
      bad_input("the system message is given twice: as an option and as the first message");
    question.system = options.system;
  }
  if (options.trace && !settings.method->traced)
    bad_input("trace: {} leaves no tree to trace", settings.method->name);
  const Stops stops = stops_of(model, question);
  return public_answer(stops,
                       answer_question(model, question, settings, answer_options(stops, options)),
                       options.trace);
}

std::vector<Answer> asked_all(const LoadedModel& model, std::size_t count,
                              const std::function<Question(std::size_t)>& question,
                              const AskOptions& options, int concurrency) {
  const Settings settings = settings_of(options);  // what is wrong for all is an error of the call
  std::vector<Answer> answers(count);
  parallel_for(count, concurrency, [&](std::size_t i) {
    AskOptions own = options;
    own.question += static_cast<std::uint32_t>(i);
    try {
      answers[i] = asked(model, question(i), settings, own);
    } catch (const BadInput& error) {
      answers[i].error = error.what();
    }
  });
  return answers;
}

ScoredAnswer scored_answer(const LoadedModel& model, Question question, const std::string& answer,
                           const ScoreOptions& options) {
  question.system = options.system.empty() ? question.system : options.system;
  question.raw = options.raw;
  question.template_arguments = options.template_arguments;
  question.system_as_user = options.system_as_user;
  const Settings settings = settings_of(options);
  const Candidate scored = score_text(model, question, answer, {settings, options.end});
  ScoredAnswer result{.score = scored.score};
  for (std::size_t i = 0; i < scored.tokens.size(); ++i) {
    TokenScore& token = result.tokens.emplace_back();
    token.token = scored.tokens[i];
    token.text = model.token_text(token.token);
    token.base = scored.logprobs.base[i];
    if (scored.logprobs.positive.empty()) continue;
    token.positive = scored.logprobs.positive[i];
    token.negative = scored.logprobs.negative[i];
  }
  return result;
}

}  // namespace

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
  return asked(parts_->model, {.text = question}, settings_of(options), options);
}

Answer LanguageModel::ask(const std::vector<Message>& messages, const AskOptions& options) const {
  return asked(parts_->model, question_of(messages), settings_of(options), options);
}

std::vector<Answer> LanguageModel::ask_all(const std::vector<std::string>& questions,
                                           const AskOptions& options, int concurrency) const {
  return asked_all(
      parts_->model, questions.size(), [&](std::size_t i) { return Question{questions[i]}; },
      options, concurrency);
}

std::vector<Answer> LanguageModel::ask_all(const std::vector<std::vector<Message>>& conversations,
                                           const AskOptions& options, int concurrency) const {
  return asked_all(
      parts_->model, conversations.size(),
      [&](std::size_t i) { return question_of(conversations[i]); }, options, concurrency);
}

ScoredAnswer LanguageModel::score(const std::string& question, const std::string& answer,
                                  const ScoreOptions& options) const {
  return scored_answer(parts_->model, {.text = question}, answer, options);
}

ScoredAnswer LanguageModel::score(const std::vector<Message>& messages, const std::string& answer,
                                  const ScoreOptions& options) const {
  return scored_answer(parts_->model, question_of(messages), answer, options);
}

ModelInfo LanguageModel::info() const {
  const LoadedModel& model = parts_->model;
  const EngineInfo& engine = model.engine().info();
  return {.name = model.name(),
          .engine = engine.description,
          .vocabulary = engine.vocab_size,
          .max_length = engine.max_length,
          .end_tokens = engine.eos,
          .chat_template = model.has_chat_template()};
}

std::vector<std::int32_t> LanguageModel::encode(const std::string& text, bool special) const {
  return parts_->model.tokenizer().encode(text, {.special_in_text = special});
}

std::string LanguageModel::decode(const std::vector<std::int32_t>& tokens) const {
  return parts_->model.text(tokens);
}

}  // namespace counterbeam
