// Self-consistency: the samples of best-of-n, chosen by majority. Each sample votes with the answer
// extracted from it; votes for the same value count together. Of the answer with most votes the
// best-scored sample is returned, and a tie goes to the answer whose best sample scores higher.
// Where nobody votes, the best sample wins.
#include <map>
#include <utility>

#include "base/error.h"
#include "search/samples.h"

namespace counterbeam {
namespace {

struct Ballot {
  std::string answer;  // as the first voter wrote it
  std::size_t votes = 0;
  std::size_t best = 0;  // index of the best-scored voter
};

// Votes by answer, in the order of their first voters. An answer joins the first ballot whose own
// answer has the same value, which makes classes without asking whether equality is transitive.
class Ballots {
 public:
  using Same = std::function<bool(std::string_view, std::string_view)>;
  explicit Ballots(const Same& same) : same_(same) {}

  Ballot& of(const std::string& answer) {
    const auto [known, fresh] = places_.emplace(answer, ballots_.size());
    if (!fresh) return ballots_[known->second];
    for (std::size_t i = 0; same_ && i < ballots_.size() && comparisons_ < kMostComparisons; ++i) {
      ++comparisons_;
      if (!same_(ballots_[i].answer, answer)) continue;
      known->second = i;
      return ballots_[i];
    }
    return ballots_.emplace_back(Ballot{answer});
  }

  const std::vector<Ballot>& all() const { return ballots_; }

 private:
  // Bounds the time of hundreds of samples that all differ; beyond it texts are compared.
  static constexpr int kMostComparisons = 2000;

  const Same& same_;
  std::vector<Ballot> ballots_;
  std::map<std::string, std::size_t> places_;  // of every text that was seen
  int comparisons_ = 0;
};

}  // namespace

SearchResult self_consistency(const Task& task, const Settings& settings,
                              const SearchHooks& hooks) {
  CB_CHECK(hooks.vote);
  SearchResult result = sample_answers(task, settings, hooks);
  const auto score_of = [&](std::size_t i) { return result.pool[i].score; };
  Ballots ballots(hooks.same_vote);
  for (std::size_t i = 0; i < result.pool.size(); ++i) {
    const auto answer = hooks.vote(result.pool[i].tokens);
    if (!answer) continue;
    Ballot& ballot = ballots.of(*answer);
    if (ballot.votes++ == 0 || score_of(i) > score_of(ballot.best)) ballot.best = i;
  }
  Ballot winner{"", 0, best_index(result.pool)};
  for (const Ballot& ballot : ballots.all())
    if (winner.votes == 0 || std::pair(ballot.votes, score_of(ballot.best)) >
                                 std::pair(winner.votes, score_of(winner.best)))
      winner = ballot;
  result.selected = winner.best;
  result.trace.selected = result.answer().id;
  return result;
}

}  // namespace counterbeam
