// Power sampling by Metropolis-Hastings (Karan & Du 2025): after every block of new tokens, a few
// proposals resample the answer from a random position on, at temperature 1/alpha, and are accepted
// so that answers follow p^alpha. Where the public code departs from its paper we follow the
// mathematics: whole suffixes are compared, the choice of the position is part of the ratio when
// lengths differ, and only a generated end-of-sequence token ends an answer.
#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "search/search.h"

namespace counterbeam {
namespace {

constexpr int kSnapshotTokens = 32;  // a proposal re-reads fewer tokens than this

// What a draw decides, in the place of the beam's number.
enum Purpose : std::uint32_t { kPosition, kAcceptance };

// An answer with forks of it along the way: snapshots[i] holds its first i * kSnapshotTokens
// tokens.
struct Chain {
  std::vector<std::shared_ptr<const Beam>> snapshots;
  std::shared_ptr<const Beam> answer;
};

class Sampler {
 public:
  Sampler(const Task& task, const Settings& settings, Ledger& ledger)
      : task_(task), settings_(settings), ledger_(ledger) {
    settings_.temperature = 1 / settings.alpha;
    auto empty = std::make_shared<const Beam>(open_beam(task_, ledger_));
    current_ = {{empty}, empty};
  }

  const Beam& answer() const { return *current_.answer; }
  bool ended() const { return answer().ended; }

  // New tokens until the answer has `length` of them or ends.
  void extend_to(int length) {
    ++proposal_;
    grow(current_, answer().fork(), length);
  }

  // One Metropolis step; answers stay within `length` tokens.
  void step(int length) {
    ++proposal_;
    const std::size_t current_length = answer().tokens.size();
    const auto from = static_cast<std::size_t>(uniform_below(key(kPosition), current_length));
    Chain proposed = resampled(from, length);
    const std::size_t proposed_length = proposed.answer->tokens.size();
    // The position is chosen among the tokens of the present answer, so lengths enter the ratio.
    const double log_ratio = weight(*proposed.answer, from) - weight(answer(), from) +
                             std::log(static_cast<double>(current_length)) -
                             std::log(static_cast<double>(proposed_length));
    if (std::log(uniform(key(kAcceptance))) < log_ratio) current_ = std::move(proposed);
  }

 private:
  DrawKey key(Purpose purpose) const {
    return {task_.seed, task_.question, proposal_, purpose, 0, DrawUse::Metropolis};
  }

  // log p^alpha - log q of the tokens from `from` on.
  double weight(const Beam& beam, std::size_t from) const {
    double sum = 0;
    for (std::size_t i = from; i < beam.tokens.size(); ++i)
      sum += settings_.alpha * beam.logprobs.base[i] - beam.logprobs.drawn[i];
    return sum;
  }

  // Samples on, in steps that end at snapshots.
  void grow(Chain& chain, Beam beam, int length) {
    while (!beam.ended && static_cast<int>(beam.tokens.size()) < length) {
      const int have = static_cast<int>(beam.tokens.size());
      const int boundary = (have / kSnapshotTokens + 1) * kSnapshotTokens;
      extend_beams(task_, std::span(&beam, 1), std::min(boundary, length) - have, settings_,
                   proposal_, ledger_);
      if (!beam.ended && static_cast<int>(beam.tokens.size()) == boundary)
        chain.snapshots.push_back(std::make_shared<const Beam>(beam.fork()));
    }
    chain.answer = std::make_shared<const Beam>(std::move(beam));
  }

  // The present answer up to `from`, then fresh tokens.
  Chain resampled(std::size_t from, int length) {
    const std::size_t snapshot = from / kSnapshotTokens;
    Chain chain{{current_.snapshots.begin(),
                 current_.snapshots.begin() + static_cast<std::ptrdiff_t>(snapshot) + 1},
                nullptr};
    Beam beam = chain.snapshots.back()->fork();
    reread(beam, from);
    grow(chain, std::move(beam), length);
    return chain;
  }

  // Appends tokens of the present answer to a beam that holds its beginning.
  void reread(Beam& beam, std::size_t until) {
    const std::size_t from = beam.tokens.size();
    if (from == until) return;
    const Candidate& source = answer();
    const std::span tokens = std::span(source.tokens).subspan(from, until - from);
    ReadTokens read;
    const ScoreRequest request{.sequence = &beam.base, .tokens = tokens, .read = &read};
    task_.engine.score(std::span(&request, 1), task_.cancellation);
    ledger_.scored_tokens += static_cast<std::int64_t>(tokens.size());
    add_read(read, ledger_);
    for (std::size_t i = from; i < until; ++i) {
      beam.tokens.push_back(source.tokens[i]);
      beam.logprobs.base.push_back(source.logprobs.base[i]);
      beam.logprobs.drawn.push_back(source.logprobs.drawn[i]);
      if (i < source.logprobs.top.size()) beam.logprobs.top.push_back(source.logprobs.top[i]);
      beam.sums.base += source.logprobs.base[i];
      ++beam.sums.tokens;
    }
  }

  Task task_;
  Settings settings_;
  Ledger& ledger_;
  Chain current_;
  std::uint32_t proposal_ = 0;
};

}  // namespace

SearchResult mcmc_power_sampling(const Task& task, const Settings& settings,
                                 const SearchHooks& hooks) {
  SearchResult result;
  const int limit = answer_limit(task, settings);
  const int blocks = (limit + settings.block - 1) / settings.block;
  Sampler sampler(task, settings, result.ledger);
  for (int t = 0; t < blocks && !sampler.ended(); ++t) {
    const int length = std::min(limit, (t + 1) * settings.block);
    try {
      sampler.extend_to(length);
      for (int i = 0; i < settings.steps; ++i) sampler.step(length);
    } catch (const Error& error) {
      if (sampler.answer().tokens.empty() || !ends_with_partial(error, hooks)) throw;
      result.interrupted = true;
      break;
    }
    report_single(hooks, t + 1, blocks, sampler.answer(), sampler.ended(), result.ledger);
  }
  Candidate answer = sampler.answer();
  answer.id = 0;
  result.trace = {settings, task.prompts, {}, {0}, 0};
  result.pool.push_back(std::move(answer));
  return result;
}

}  // namespace counterbeam
