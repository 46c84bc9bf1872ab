// From the result of a search to the choices of an answer, its cost and its usage.
#include <algorithm>
#include <set>

#include "search/methods.h"
#include "serve/generation.h"

namespace counterbeam::serve {
namespace {

std::vector<ShownToken> shown_tokens(const Candidate& answer) {
  std::vector<ShownToken> shown;
  for (std::size_t i = 0; i < answer.tokens.size(); ++i) {
    ShownToken one{.token = answer.tokens[i], .logprob = answer.logprobs.base[i]};
    if (i < answer.logprobs.top.size()) one.top = answer.logprobs.top[i];
    shown.push_back(std::move(one));
  }
  return shown;
}

}  // namespace

// The answers to return, best first: the chosen one, then others of the pool with texts of their
// own.
std::vector<const Candidate*> Generation::chosen(const Job& job, const SearchResult& result) const {
  std::vector<const Candidate*> answers = {&result.answer()};
  if (how_.one_answer() || how_.n == 1) return answers;
  std::vector<const Candidate*> others;
  for (const Candidate& answer : result.pool) others.push_back(&answer);
  std::stable_sort(others.begin(), others.end(),
                   [](const Candidate* a, const Candidate* b) { return a->score > b->score; });
  std::set<std::string> seen = {job.stops->text(result.answer().tokens)};
  for (const Candidate* answer : others)
    if (static_cast<int>(answers.size()) < how_.n &&
        seen.insert(job.stops->text(answer->tokens)).second)
      answers.push_back(answer);
  return answers;
}

Thoughts Generation::thoughts_of(const Job& job, const std::string& text, bool final) const {
  if (!prompts_[job.prompt].thinks) return {"", text};
  return split_thoughts(text, job.thinking, final);
}

Choice Generation::choice_of(const Job& job, const Candidate& answer, int index) const {
  std::string text = job.stops->text(answer.tokens);
  if (how_.include_stop && answer.ended) {
    const std::string whole = services_.model.text(answer.tokens);
    if (whole.starts_with(text)) {
      const std::string_view rest = std::string_view(whole).substr(text.size());
      std::string_view longest;
      for (const std::string& stop : how_.stop)
        if (rest.starts_with(stop) && stop.size() > longest.size()) longest = stop;
      text += longest;
    }
  }
  const Thoughts thoughts = thoughts_of(job, text, true);
  return {.index = index,
          .prompt = job.prompt,
          .reasoning = thoughts.reasoning,
          .content = thoughts.content,
          .tokens = shown_tokens(answer),
          .finish = answer.ended ? "stop" : "length"};
}

Json Generation::cost_of(const Job& job, const SearchResult& result) const {
  Json cost = {{"id", Searches::id_of(*job.search)},
               {"method", how_.settings.method->name},
               {"score", result.answer().score},
               {"generated_tokens", result.ledger.generated_tokens},
               {"scored_tokens", result.ledger.scored_tokens},
               {"prompt_tokens", result.ledger.prompt_tokens},
               {"cached_tokens", result.ledger.cached_tokens},
               {"seconds", result.ledger.seconds},
               {"blocks", job.blocks},
               {"pool", result.pool.size()}};
  if (result.interrupted) cost["interrupted"] = true;
  return cost;
}

// Costs of several searches add up; the id, the method and the score are those of the first.
void Generation::add_cost(const Json& cost) {
  if (search_.is_null()) {
    search_ = cost;
    return;
  }
  for (const char* name :
       {"generated_tokens", "scored_tokens", "prompt_tokens", "cached_tokens", "blocks", "pool"})
    search_[name] = search_[name].get<std::int64_t>() + cost[name].get<std::int64_t>();
  search_["seconds"] = search_["seconds"].get<double>() + cost["seconds"].get<double>();
}

void Generation::take_answer(Job& job, AnsweredQuestion answered) {
  SearchResult& result = answered.result;
  const int first = static_cast<int>(job.prompt) * how_.n + job.copy;
  std::vector<Choice> choices;
  for (const Candidate* answer : chosen(job, result))
    choices.push_back(choice_of(job, *answer, first + static_cast<int>(choices.size())));
  Json cost = cost_of(job, result);
  {
    const std::lock_guard lock(mutex_);
    cost_.generated_tokens += result.ledger.generated_tokens;
    cost_.scored_tokens += result.ledger.scored_tokens;
    cost_.computed_prompt_tokens += result.ledger.prompt_tokens;
    cost_.cached_tokens += result.ledger.cached_tokens;
    cost_.blocks += job.blocks;
    cost_.ended = cost_.ended && result.answer().ended;
    cached_tokens_ += std::min<std::int64_t>(
        result.ledger.cached_tokens, static_cast<std::int64_t>(replies_[job.prompt].ids.size()));
  }
  Json shown = cost;
  if (how_.trace) shown["trace"] = to_json(result.trace);
  services_.searches.finish(*job.search, std::move(result.trace), std::move(cost));
  const std::lock_guard lock(mutex_);
  job.done = true;
  if (how_.stream && !closed_) {
    for (std::size_t i = 0; i < choices.size(); ++i) {
      Sent fresh;
      send_choice(choices[i], i == 0 ? job.sent : fresh, i == 0 ? shown : Json());
    }
  }
  add_cost(shown);
  for (Choice& choice : choices) choices_.push_back(std::move(choice));
}

Usage Generation::usage() const {
  Usage usage;
  for (const PromptReply& prompt : replies_)
    usage.prompt_tokens += static_cast<std::int64_t>(prompt.ids.size());
  for (const Choice& choice : choices_)
    usage.completion_tokens += static_cast<std::int64_t>(choice.tokens.size());
  usage.cached_tokens = std::min(cached_tokens_, usage.prompt_tokens);
  return usage;
}

}  // namespace counterbeam::serve
