// Self-consistency: the samples of best-of-n, chosen by majority. Each sample votes with the answer
// extracted from it; of the answer with most votes the best-scored sample is returned, and a tie
// goes to the answer whose best sample scores higher. Where nobody votes, the best sample wins.
#include <map>
#include <utility>

#include "base/error.h"
#include "search/samples.h"

namespace counterbeam {
namespace {

struct Ballot {
  std::size_t votes = 0;
  std::size_t best = 0;  // index of the best-scored voter
};

}  // namespace

SearchResult self_consistency(const Task& task, const Settings& settings,
                              const SearchHooks& hooks) {
  CB_CHECK(hooks.vote);
  SearchResult result = sample_answers(task, settings, hooks);
  const auto score_of = [&](std::size_t i) { return result.pool[i].score; };
  std::map<std::string, Ballot> ballots;
  for (std::size_t i = 0; i < result.pool.size(); ++i) {
    const auto answer = hooks.vote(result.pool[i].tokens);
    if (!answer) continue;
    Ballot& ballot = ballots[*answer];
    if (ballot.votes++ == 0 || score_of(i) > score_of(ballot.best)) ballot.best = i;
  }
  Ballot winner{0, best_index(result.pool)};
  for (const auto& [answer, ballot] : ballots)
    if (winner.votes == 0 || std::pair(ballot.votes, score_of(ballot.best)) >
                                 std::pair(winner.votes, score_of(winner.best)))
      winner = ballot;
  result.selected = winner.best;
  result.trace.selected = result.answer().id;
  return result;
}

}  // namespace counterbeam
