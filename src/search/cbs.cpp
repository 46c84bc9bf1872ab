// Contrastive beam search: extend, score, prune, fork. With steer = 0 (or without contexts) it is
// beam search over mean log-likelihood; with N = W = 1 it is sampling.
#include <algorithm>
#include <set>

#include "search/lookahead.h"
#include "search/search.h"

namespace counterbeam {
namespace {

std::vector<Beam> replicate(const std::vector<Beam>& survivors, int count) {
  std::vector<Beam> beams;
  for (int i = 0; i < count; ++i)
    beams.push_back(survivors[static_cast<std::size_t>(i) % survivors.size()].fork());
  return beams;
}

// Keeps the first of every trajectory.
std::vector<Beam> without_duplicates(std::vector<Beam> beams, Recorder& recorder) {
  std::set<std::vector<TokenId>> seen;
  std::vector<Beam> distinct;
  for (Beam& beam : beams) {
    if (seen.insert(beam.tokens).second)
      distinct.push_back(std::move(beam));
    else
      recorder.fate(beam, Fate::Duplicate);
  }
  return distinct;
}

// The best `count` by rank; on ties the earlier beam.
std::vector<Beam> best_of(std::vector<Beam> beams, std::size_t count, Recorder& recorder) {
  std::stable_sort(beams.begin(), beams.end(),
                   [](const Beam& a, const Beam& b) { return a.rank > b.rank; });
  for (std::size_t i = count; i < beams.size(); ++i) recorder.fate(beams[i], Fate::Pruned);
  if (beams.size() > count)
    beams.erase(beams.begin() + static_cast<std::ptrdiff_t>(count), beams.end());
  return beams;
}

void shorten_to_common(std::vector<TokenId>& prefix, const std::vector<TokenId>& tokens) {
  const auto end = std::mismatch(prefix.begin(), prefix.end(), tokens.begin(), tokens.end());
  prefix.erase(end.first, prefix.end());
}

// What every answer that can still be chosen begins with, alive or finished.
std::vector<TokenId> agreed_prefix(const std::vector<Beam>& alive,
                                   const std::vector<Candidate>& pool) {
  std::vector<TokenId> prefix = alive[0].tokens;
  for (const Beam& beam : alive) shorten_to_common(prefix, beam.tokens);
  for (const Candidate& answer : pool) shorten_to_common(prefix, answer.tokens);
  return prefix;
}

void report(const SearchHooks& hooks, int block, int blocks, const std::vector<Beam>& alive,
            const SearchResult& result) {
  if (!hooks.on_block) return;
  BlockReport report{
      block, blocks, alive.size(), result.pool.size(), -1e300, result.ledger.generated_tokens, {}};
  for (const Beam& beam : alive) report.best = std::max(report.best, beam.score);
  for (const Candidate& answer : result.pool) report.best = std::max(report.best, answer.score);
  if (!alive.empty()) report.agreed = agreed_prefix(alive, result.pool);
  hooks.on_block(report);
}

}  // namespace

SearchResult contrastive_beam_search(const Task& task, const Settings& settings,
                                     const SearchHooks& hooks) {
  SearchResult result;
  Recorder recorder(settings, task.prompts);
  const int limit = answer_limit(task, settings);
  const int needed = (limit + settings.block - 1) / settings.block;
  const int iterations = settings.iterations > 0 ? std::min(settings.iterations, needed) : needed;
  const auto survivors = static_cast<std::size_t>(std::max(1, settings.beams / settings.prune));

  std::vector<Beam> empty;
  empty.push_back(open_beam(task, result.ledger));
  std::vector<Beam> beams = replicate(empty, settings.beams);
  for (int t = 0; t < iterations; ++t) {
    const int tokens = std::min(settings.block, limit - t * settings.block);
    extend_beams(task, beams, tokens, settings, static_cast<std::uint32_t>(t), result.ledger);
    recorder.block(beams);

    std::vector<Beam> open;
    for (Beam& beam : beams) {
      if (beam.ended || t == iterations - 1) {
        recorder.fate(beam, Fate::Finished);
        recorder.pool(beam);
        result.pool.push_back(std::move(beam));
      } else {
        open.push_back(std::move(beam));
      }
    }
    open = without_duplicates(std::move(open), recorder);
    if (settings.lookahead > 0) {
      add_future_correction(task, open, settings, t, result.ledger);
      recorder.ranks(open);
    }
    open = best_of(std::move(open), survivors, recorder);
    report(hooks, t + 1, iterations, open, result);
    if (open.empty()) break;
    beams = replicate(open, settings.beams);
  }
  result.selected = best_index(result.pool);
  recorder.selected(result.answer());
  result.trace = recorder.take();
  return result;
}

}  // namespace counterbeam
