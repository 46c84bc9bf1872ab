// Best-of-n: N full samples, ranked once at the end by s(a).
#include <algorithm>

#include "search/samples.h"

namespace counterbeam {

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
  std::size_t finished = 0;
  for (int t = 0; t < blocks && !alive.empty(); ++t) {
    const int tokens = std::min(settings.block, limit - t * settings.block);
    extend_beams(task, alive, tokens, settings, static_cast<std::uint32_t>(t), result.ledger,
                 places);
    recorder.block(alive);
    std::vector<Beam> open;
    std::vector<std::uint32_t> open_places;
    for (std::size_t i = 0; i < alive.size(); ++i) {
      if (alive[i].ended || t == blocks - 1) {
        recorder.fate(alive[i], Fate::Finished);
        answers[places[i]] = alive[i];
        ++finished;
      } else {
        open_places.push_back(places[i]);
        open.push_back(std::move(alive[i]));
      }
    }
    alive = std::move(open);
    places = std::move(open_places);
    if (hooks.on_block)
      hooks.on_block(
          {t + 1, blocks, alive.size(), finished, 0, result.ledger.generated_tokens, {}});
  }
  for (const Candidate& answer : answers) recorder.pool(answer);
  result.pool = std::move(answers);
  result.trace = recorder.take();
  return result;
}

SearchResult best_of_n(const Task& task, const Settings& settings, const SearchHooks& hooks) {
  SearchResult result = sample_answers(task, settings, hooks);
  result.selected = best_index(result.pool);
  result.trace.selected = result.answer().id;
  return result;
}

}  // namespace counterbeam
