#include "search/answer.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "grade/vote.h"
#include "search/methods.h"
#include "search/rerank.h"

namespace counterbeam {
namespace {

SearchHooks hooks_of(const Stops& stops, const AnswerOptions& options) {
  SearchHooks hooks;
  if (options.on_block)
    hooks.on_block = [&](const BlockReport& report) {
      BlockReport shown = report;
      shown.agreed_text = stops.settled_text(report.agreed);
      shown.best_text = stops.text(report.best_tokens);
      options.on_block(shown);
    };
  hooks.scorer = options.scorer;
  hooks.keep_partial = options.keep_partial;
  hooks.vote = [&stops, &options](const std::vector<TokenId>& tokens) {
    const std::string text = stops.text(tokens);
    return options.vote ? options.vote(text) : math_vote(text);
  };
  hooks.same_vote = options.vote ? options.same_vote : same_math_vote;
  return hooks;
}

Task task_of(const LoadedModel& model, const Prompts& prompts, const Stops& stops,
             const AnswerOptions& options) {
  return {model.engine(),       prompts, options.seed,         options.question,
          options.cancellation, &stops,  options.top_logprobs, options.on_token};
}

// Names what to shorten where a prompt leaves no room for an answer.
void check_fits(const LoadedModel& model, const Question& question, const Prompts& prompts) {
  const std::size_t longest =
      std::max({prompts.base.size(), prompts.positive.size(), prompts.negative.size()});
  const EngineInfo& engine = model.engine().info();
  const std::int64_t most = engine.max_length;
  if (static_cast<std::int64_t>(longest) < most) return;
  if (static_cast<std::int64_t>(longest) < engine.model_length)
    failed("the prompt has {} tokens, and the cache holds {}: give it more memory (--cache-memory)",
           longest, most);
  struct Part {
    const char* name;
    std::size_t tokens;
  };
  std::size_t history = 0;
  for (const Message& turn : question.history)
    history += model.tokenizer().encode(turn.content).size();
  const Part parts[] = {{"question", model.tokenizer().encode(question.text).size()},
                        {"system message", model.tokenizer().encode(question.system).size()},
                        {"earlier turns", history}};
  const Part& largest =
      *std::max_element(std::begin(parts), std::end(parts),
                        [](const Part& a, const Part& b) { return a.tokens < b.tokens; });
  bad_input(
      "the prompt has {} tokens, {} of them of the {}, and the model reads at most {}: shorten "
      "the {}",
      longest, largest.tokens, largest.name, most, largest.name);
}

AnsweredQuestion answered(const Stops& stops, SearchResult result) {
  std::string text = stops.text(result.answer().tokens);
  return {std::move(text), std::move(result)};
}

// Draws the samples once and ranks them by each of the settings. REQUIRES that they share samples.
std::vector<SearchResult> rank_shared_samples(const LoadedModel& model, const Question& question,
                                              std::span<const Settings> settings,
                                              const Stops& stops, const AnswerOptions& options) {
  const Settings plain = without_contexts(settings.front());
  const Prompts base = model.prompts(question, plain);
  check_fits(model, question, base);
  std::vector<Ranking> rankings;
  for (const Settings& one : settings)
    rankings.push_back({model.prompts(question, one), one.steer, aggregate_of(one)});
  return rerank(task_of(model, base, stops, options), plain, rankings);
}

}  // namespace

Stops stops_of(const LoadedModel& model, const Question& question) {
  const EngineInfo& engine = model.engine().info();
  std::vector<TokenId> ids = engine.eos;
  for (const TokenId id : question.stop_ids) {
    if (id < 0 || id >= engine.vocab_size)
      bad_input("--stop-id: {} is not a token of {}; allowed: 0 to {}", id, model.name(),
                engine.vocab_size - 1);
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
  return {model.tokenizer(), std::move(ids), question.stop};
}

bool share_samples(const Settings& a, const Settings& b) {
  return a.method == b.method && a.method->ranks_whole_samples &&
         to_json(without_contexts(a)) == to_json(without_contexts(b));
}

AnsweredQuestion answer_question(const LoadedModel& model, const Question& question,
                                 const Settings& settings, const AnswerOptions& options) {
  const Prompts prompts = model.prompts(question, settings);
  check_fits(model, question, prompts);
  const Stops stops = stops_of(model, question);
  SearchResult result =
      run_search(task_of(model, prompts, stops, options), settings, hooks_of(stops, options));
  return answered(stops, std::move(result));
}

std::vector<AnsweredQuestion> answer_question(const LoadedModel& model, const Question& question,
                                              std::span<const Settings> settings,
                                              const AnswerOptions& options) {
  const bool shared = !settings.empty() && !options.keep_traces && !options.scorer &&
                      std::all_of(settings.begin(), settings.end(), [&](const Settings& one) {
                        return share_samples(settings.front(), one);
                      });
  std::vector<AnsweredQuestion> answers;
  if (shared) {
    const Stops stops = stops_of(model, question);
    for (SearchResult& result : rank_shared_samples(model, question, settings, stops, options))
      answers.push_back(answered(stops, std::move(result)));
  } else {
    for (const Settings& one : settings)
      answers.push_back(answer_question(model, question, one, options));
  }
  return answers;
}

}  // namespace counterbeam
