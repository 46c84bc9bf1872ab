// Contrastive beam search: extend, score, prune, fork. With steer = 0 (or without contexts) it is
// beam search over mean log-likelihood; with N = W = 1 it is sampling.
#include <algorithm>
#include <limits>
#include <set>

#include "base/error.h"
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

std::vector<Candidate*> pointers(std::vector<Beam>& beams) {
  std::vector<Candidate*> all;
  for (Beam& beam : beams) all.push_back(&beam);
  return all;
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

// What every answer that can still be chosen looks like, alive or finished.
std::vector<const Candidate*> choosable(const std::vector<Beam>& alive,
                                        const std::vector<Candidate>& pool) {
  std::vector<const Candidate*> all;
  for (const Beam& beam : alive) all.push_back(&beam);
  for (const Candidate& answer : pool) all.push_back(&answer);
  return all;
}

void report(const SearchHooks& hooks, int block, int blocks, const std::vector<Beam>& alive,
            const SearchResult& result, const Recorder& recorder) {
  if (!hooks.on_block) return;
  BlockReport report{.block = block,
                     .blocks = blocks,
                     .alive = alive.size(),
                     .finished = result.pool.size(),
                     .generated_tokens = result.ledger.generated_tokens,
                     .candidates = recorder.last_block()};
  report_candidates(report, choosable(alive, result.pool));
  hooks.on_block(report);
}

// Decides when a search with patience ends before its limit.
class Patience {
 public:
  Patience(const Settings& settings, int limit, bool bounded)
      : blocks_(settings.patience),
        limit_(limit),
        bounded_(bounded),
        aggregate_(aggregate_of(settings)) {}

  // After a block: no living beam can beat the best finished answer, or `blocks_` blocks brought
  // no better one.
  bool is_over(const std::vector<Beam>& alive, const std::vector<Candidate>& pool) {
    if (blocks_ == 0 || pool.empty()) return false;
    const double best = pool[best_index(pool)].score;
    if (best > best_) {
      best_ = best;
      waited_ = 0;
    } else {
      ++waited_;
    }
    return waited_ >= blocks_ || std::none_of(alive.begin(), alive.end(), [&](const Beam& beam) {
             return highest_score(beam) > best;
           });
  }

 private:
  // Tokens to come add at most log 1 = 0 to the sum of base log-probabilities, so that sum, or its
  // mean over the longest answer, bounds the score. With rewards or a scorer of one's own there is
  // no bound.
  double highest_score(const Beam& beam) const {
    if (!bounded_) return std::numeric_limits<double>::infinity();
    return aggregated(beam.sums.base, limit_, aggregate_);
  }

  int blocks_, limit_;
  bool bounded_;
  Aggregate aggregate_;
  double best_ = -std::numeric_limits<double>::infinity();
  int waited_ = 0;
};

// The best answers so far become the pool's last ones: what a cancelled search leaves.
void close_survivors(std::vector<Beam>& beams, Recorder& recorder, SearchResult& result) {
  std::set<int> closed;  // beams are copies of the survivors
  for (Beam& beam : beams) {
    if (!closed.insert(beam.id).second) continue;
    recorder.fate(beam, Fate::Finished);
    recorder.pool(beam);
    result.pool.push_back(std::move(beam));
  }
  result.interrupted = true;
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

  Patience patience(settings, limit, !task.prompts.contrast() && !hooks.scorer);

  std::vector<Beam> empty;
  empty.push_back(open_beam(task, result.ledger));
  std::vector<Beam> beams = replicate(empty, settings.beams);
  for (int t = 0; t < iterations; ++t) {
    const int tokens = std::min(settings.block, limit - t * settings.block);
    try {
      extend_beams(task, beams, tokens, settings, static_cast<std::uint32_t>(t), result.ledger);
    } catch (const Error& error) {
      if (t == 0 || !ends_with_partial(error, hooks)) throw;
      close_survivors(beams, recorder, result);
      break;
    }
    apply_scorer(hooks, pointers(beams));
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
    report(hooks, t + 1, iterations, open, result, recorder);
    if (open.empty() || patience.is_over(open, result.pool)) break;
    beams = replicate(open, settings.beams);
  }
  result.selected = best_index(result.pool);
  recorder.selected(result.answer());
  result.trace = recorder.take();
  return result;
}

}  // namespace counterbeam
