#include "search/rerank.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "search/methods.h"
#include "search/samples.h"

namespace counterbeam {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// An answer as a shorter limit would have left it: draws are keyed, so it is a prefix.
Candidate cut(Candidate answer, std::size_t limit) {
  answer.dropped = std::min(answer.dropped, limit - std::min(limit, answer.tokens.size()));
  if (answer.tokens.size() > limit) {
    answer.ended = false;
    answer.tokens.resize(limit);
    answer.logprobs.base.resize(limit);
    answer.logprobs.drawn.resize(limit);
    answer.logprobs.top.resize(std::min(limit, answer.logprobs.top.size()));
  }
  answer.sums = {sum_of(answer.logprobs.base), 0, 0,
                 static_cast<std::int64_t>(answer.tokens.size())};
  return answer;
}

// What the answer alone would have drawn, and read under every context.
std::int64_t drawn(const Candidate& answer) {
  return answer.sums.tokens + static_cast<std::int64_t>(answer.dropped);
}

// Reads the answers under the contexts of the task's prompts.
void read_under_contexts(const Task& task, std::vector<Candidate>& answers, Ledger& ledger) {
  const Beam empty = open_beam(task, ledger);
  std::vector<Beam> beams;
  for (std::size_t i = 0; i < answers.size(); ++i) beams.push_back(empty.fork());
  ReadTokens read;
  std::vector<ScoreRequest> requests;
  for (std::size_t i = 0; i < answers.size(); ++i)
    for (Sequence* sequence : context_sequences(beams[i]))
      requests.push_back({.sequence = sequence, .tokens = answers[i].tokens, .read = &read});
  auto logprobs = task.engine.score(requests, task.cancellation);
  const std::size_t sides = requests.size() / answers.size();
  for (std::size_t i = 0; i < answers.size(); ++i) {
    set_context_logprobs(answers[i], beams[i], std::span(logprobs).subspan(sides * i, sides));
    ledger.scored_tokens += static_cast<std::int64_t>(sides) * drawn(answers[i]);
  }
  add_read(read, ledger);
}

SearchResult rank_samples(const Task& task, const Settings& settings, const SearchResult& samples,
                          const Ranking& ranking) {
  const auto limit = static_cast<std::size_t>(answer_limit(task, settings));
  SearchResult result;
  for (const Candidate& answer : samples.pool) {
    result.pool.push_back(cut(answer, limit));
    result.ledger.generated_tokens += drawn(result.pool.back());
  }
  if (task.prompts.contrast()) {
    read_under_contexts(task, result.pool, result.ledger);
  } else {
    result.ledger.prompt_tokens = samples.ledger.prompt_tokens;
    result.ledger.cached_tokens = samples.ledger.cached_tokens;
  }
  for (Candidate& answer : result.pool)
    answer.rank = answer.score = score(answer.sums, ranking.steer, ranking.aggregate);
  result.selected = best_index(result.pool);
  return result;
}

}  // namespace

std::vector<SearchResult> rerank(const Task& task, const Settings& settings,
                                 std::span<const Ranking> rankings) {
  CB_CHECK(!task.prompts.contrast() && settings.method->ranks_whole_samples);
  const auto start = Clock::now();
  const SearchResult samples = sample_answers(task, settings, {});
  const double sampling = seconds_since(start);
  std::vector<SearchResult> results;
  for (const Ranking& ranking : rankings) {
    const auto begin = Clock::now();
    const Task own = {task.engine,   ranking.prompts,   task.seed,
                      task.question, task.cancellation, task.stops};
    results.push_back(rank_samples(own, settings, samples, ranking));
    results.back().ledger.seconds = sampling + seconds_since(begin);
  }
  return results;
}

}  // namespace counterbeam
