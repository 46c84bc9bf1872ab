// Best-of-n: N full samples, ranked once at the end by s(a).
#include <algorithm>

#include "base/error.h"
#include "search/samples.h"

namespace counterbeam {
namespace {

// Every sample can still be chosen, those that are finished and those that go on.
void report(const SearchHooks& hooks, int block, int blocks, const std::vector<Beam>& alive,
            const std::vector<std::uint32_t>& places, const std::vector<Candidate>& answers,
            const Ledger& ledger, const Recorder& recorder) {
  if (!hooks.on_block) return;
  std::vector<const Candidate*> samples;
  for (const Candidate& answer : answers) samples.push_back(&answer);
  for (std::size_t i = 0; i < alive.size(); ++i) samples[places[i]] = &alive[i];
  BlockReport report{.block = block,
                     .blocks = blocks,
                     .alive = alive.size(),
                     .finished = answers.size() - alive.size(),
                     .generated_tokens = ledger.generated_tokens,
                     .candidates = recorder.last_block()};
  report_candidates(report, samples);
  hooks.on_block(report);
}

}  // namespace

SearchResult sample_answers(const Task& task, const Settings& settings, const SearchHooks& hooks) {
  SearchResult result;
  Recorder recorder(settings, task.prompts);
  const int limit = answer_limit(task, settings);
  const int blocks = (limit + settings.block - 1) / settings.block;
  const Beam empty = open_beam(task, result.ledger);
  std::vector<Beam> alive;
  std::vector<std::uint32_t> places;  // of the living beams in the population
  for (int i = 0; i < settings.beams; ++i) alive.push_back(empty.fork());
  for (std::uint32_t i = 0; i < alive.size(); ++i) places.push_back(i);
  std::vector<Candidate> answers(alive.size());
  for (int t = 0; t < blocks && !alive.empty(); ++t) {
    const int tokens = std::min(settings.block, limit - t * settings.block);
    try {
      extend_beams(task, alive, tokens, settings, static_cast<std::uint32_t>(t), result.ledger,
                   places);
    } catch (const Error& error) {
      if (t == 0 || !ends_with_partial(error, hooks)) throw;
      for (std::size_t i = 0; i < alive.size(); ++i) answers[places[i]] = alive[i];
      result.interrupted = true;
      break;
    }
    recorder.block(alive);
    std::vector<Beam> open;
    std::vector<std::uint32_t> open_places;
    for (std::size_t i = 0; i < alive.size(); ++i) {
      if (alive[i].ended || t == blocks - 1) {
        recorder.fate(alive[i], Fate::Finished);
        answers[places[i]] = alive[i];
      } else {
        open_places.push_back(places[i]);
        open.push_back(std::move(alive[i]));
      }
    }
    alive = std::move(open);
    places = std::move(open_places);
    report(hooks, t + 1, blocks, alive, places, answers, result.ledger, recorder);
  }
  for (const Candidate& answer : answers) recorder.pool(answer);
  result.pool = std::move(answers);
  result.trace = recorder.take();
  return result;
}

SearchResult best_of_n(const Task& task, const Settings& settings, const SearchHooks& hooks) {
  SearchResult result = sample_answers(task, settings, hooks);
  std::vector<Candidate*> samples;
  for (Candidate& answer : result.pool) samples.push_back(&answer);
  apply_scorer(hooks, samples);
  result.selected = best_index(result.pool);
  result.trace.selected = result.answer().id;
  return result;
}

}  // namespace counterbeam
