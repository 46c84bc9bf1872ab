#include "search/score_answer.h"

#include "base/error.h"

namespace counterbeam {
namespace {

// The end-of-sequence token with the highest probability after the answer, under the base prompt.
TokenId likeliest_end(const Task& task, std::span<const TokenId> answer) {
  const std::vector<TokenId>& ends = task.engine.info().eos;
  if (ends.empty()) bad_input("--end: this model names no end-of-sequence token");
  if (ends.size() == 1) return ends.front();
  const std::vector<std::vector<TokenId>> prompt = {task.prompts.base};
  Opened opened = task.engine.open(prompt, task.cancellation);
  Sequence& sequence = opened.sequences.front();
  const ScoreRequest reading{&sequence, answer};
  task.engine.score({&reading, 1}, task.cancellation);
  std::vector<Sequence> forks;
  for (std::size_t i = 0; i < ends.size(); ++i) forks.push_back(sequence.fork());
  std::vector<ScoreRequest> requests;
  for (std::size_t i = 0; i < ends.size(); ++i)
    requests.push_back({&forks[i], std::span(ends).subspan(i, 1)});
  const auto logprobs = task.engine.score(requests, task.cancellation);
  std::size_t best = 0;
  for (std::size_t i = 1; i < ends.size(); ++i)
    if (logprobs[i][0] > logprobs[best][0]) best = i;
  return ends[best];
}

}  // namespace

Candidate score_text(const LoadedModel& model, const Question& question, std::string_view answer,
                     const ScoreText& options) {
  const Settings& settings = options.settings;
  const Prompts prompts = model.prompts(question, chosen_contexts(settings), settings.joiner);
  const Task task{model.engine(), prompts, 0, 0, options.cancellation};
  std::vector<TokenId> tokens = model.tokenizer().encode(answer);
  if (tokens.empty()) bad_input("the answer to score is empty");
  if (options.end) tokens.push_back(likeliest_end(task, tokens));
  return score_answer(task, tokens, settings.steer, aggregate_of(settings));
}

Candidate score_answer(const Task& task, std::span<const TokenId> tokens, double steer,
                       Aggregate aggregate) {
  if (tokens.empty()) bad_input("the answer to score is empty");
  Ledger ledger;
  Beam beam = open_beam(task, ledger);
  std::vector<ScoreRequest> requests = {{&beam.base, tokens}};
  for (Sequence* sequence : context_sequences(beam)) requests.push_back({sequence, tokens});
  auto logprobs = task.engine.score(requests, task.cancellation);
  Candidate answer;
  answer.tokens.assign(tokens.begin(), tokens.end());
  answer.logprobs.base = std::move(logprobs[0]);
  answer.sums = {sum_of(answer.logprobs.base), 0, 0, static_cast<std::int64_t>(tokens.size())};
  if (task.prompts.contrast()) set_context_logprobs(answer, beam, std::span(logprobs).subspan(1));
  answer.rank = answer.score = score(answer.sums, steer, aggregate);
  return answer;
}

}  // namespace counterbeam
