// The public interface over the rooms behind it.
#include "base/error.h"
#include "base/json.h"
#include "base/parallel_for.h"
#include "search/answer.h"
#include "search/method_strings.h"
#include "search/public_model.h"
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
          .negative = candidate.sums.negative,
          .token_base = candidate.logprobs.base,
          .token_positive = candidate.logprobs.positive,
          .token_negative = candidate.logprobs.negative};
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
  for (const auto& [name, value] : options.settings) method.give(name, value, name);
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

Answer public_answer(const Stops& stops, const Settings& settings, AnsweredQuestion answered,
                     bool trace) {
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
  answer.token_bytes = stops.token_bytes(chosen.tokens);
  answer.settings = to_line(to_json(settings));
  answer.generated_tokens = result.ledger.generated_tokens;
  answer.scored_tokens = result.ledger.scored_tokens;
  answer.prompt_tokens = result.ledger.prompt_tokens;
  answer.cached_tokens = result.ledger.cached_tokens;
  answer.seconds = result.ledger.seconds;
  return answer;
}

Question with_options(Question question, const AskOptions& options) {
  question.raw = options.raw || !question.ids.empty();
  question.template_arguments = options.template_arguments;
  question.system_as_user = options.system_as_user;
  question.stop = options.stop;
  question.stop_ids = options.stop_ids;
  if (options.system.empty()) return question;
  if (!question.system.empty())
    bad_input("the system message is given twice: as an option and as the first message");
  question.system = options.system;
  return question;
}

Answer asked(const LoadedModel& model, const Question& given, const Settings& settings,
             const AskOptions& options) {
  const Question question = with_options(given, options);
  if (options.trace && !settings.method->traced)
    bad_input("trace: {} leaves no tree to trace", settings.method->name);
  const Stops stops = stops_of(model, question);
  return public_answer(stops, settings,
                       answer_question(model, question, settings, answer_options(stops, options)),
                       options.trace);
}

Question ids_question(const std::vector<std::int32_t>& ids) {
  if (ids.empty()) bad_input("the prompt has no ids; at least one is needed");
  Question question;
  question.ids = ids;
  return question;
}

void check_token(const LoadedModel& model, std::int32_t token) {
  const int size = model.engine().info().vocab_size;
  if (token < 0 || token >= size)
    bad_input("{} is not a token of {}; allowed: 0 to {}", token, model.name(), size - 1);
}

PromptIds prompt_ids(const LoadedModel& model, const Question& question,
                     const AskOptions& options) {
  Prompts prompts = model.prompts(with_options(question, options), settings_of(options));
  return {std::move(prompts.base), std::move(prompts.positive), std::move(prompts.negative)};
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

Answer LanguageModel::ask_ids(const std::vector<std::int32_t>& prompt,
                              const AskOptions& options) const {
  return asked(parts_->model, ids_question(prompt), settings_of(options), options);
}

std::vector<Answer> LanguageModel::ask_all_ids(
    const std::vector<std::vector<std::int32_t>>& prompts, const AskOptions& options,
    int concurrency) const {
  return asked_all(
      parts_->model, prompts.size(), [&](std::size_t i) { return ids_question(prompts[i]); },
      options, concurrency);
}

PromptIds LanguageModel::prompts(const std::string& question, const AskOptions& options) const {
  return prompt_ids(parts_->model, {.text = question}, options);
}

PromptIds LanguageModel::prompts(const std::vector<Message>& messages,
                                 const AskOptions& options) const {
  return prompt_ids(parts_->model, question_of(messages), options);
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
          .device = engine.device,
          .dtype = engine.dtype,
          .activations = engine.activations,
          .vocabulary = engine.vocab_size,
          .max_length = engine.max_length,
          .end_tokens = engine.eos,
          .chat_template = model.has_chat_template()};
}

std::vector<std::int32_t> LanguageModel::encode(const std::string& text, bool special) const {
  return parts_->model.tokenizer().encode(text, {.special_in_text = special});
}

std::string LanguageModel::decode(const std::vector<std::int32_t>& tokens) const {
  for (const std::int32_t token : tokens) check_token(parts_->model, token);
  return parts_->model.text(tokens);
}

std::string LanguageModel::token_text(std::int32_t token) const {
  check_token(parts_->model, token);
  return parts_->model.token_text(token);
}

std::string LanguageModel::render(const std::string& messages, const std::string& arguments) const {
  const LoadedModel& model = parts_->model;
  if (!model.has_chat_template()) throw BadInput(model.chat_error());
  const Json list = parse_json(messages, "messages");
  if (!list.is_array()) bad_input("messages: a list of messages is needed");
  const Json variables = parse_json(arguments, "arguments");
  if (!variables.is_object()) bad_input("arguments: an object is needed, as {{\"name\": value}}");
  return model.chat_template()->render(list, variables);
}

}  // namespace counterbeam
