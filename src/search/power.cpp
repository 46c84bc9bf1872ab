// Scalable power sampling (Ji et al. 2026), batched: per block, L chunks are drawn, the K_t
// likeliest distinct ones are candidates, M_t rollouts of H tokens estimate the future of each, and
// one candidate is drawn. The temperature applies to chunks and rollouts; rollout weights are
// p^alpha / q, which is unbiased at every temperature.
#include "search/power.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "search/lookahead.h"
#include "search/search.h"

namespace counterbeam {
namespace {

std::vector<double> normalised(std::vector<double> log_weights) {
  const double top = *std::max_element(log_weights.begin(), log_weights.end());
  double sum = 0;
  for (double& weight : log_weights) sum += weight = std::exp(weight - top);
  for (double& weight : log_weights) weight /= sum;
  return log_weights;
}

// Candidates weighted by their rollouts, rollout `left_out` not counted (-1: all of them).
std::vector<double> estimate(const std::vector<PowerCandidate>& candidates, int left_out) {
  std::vector<double> log_weights;
  for (const PowerCandidate& candidate : candidates) {
    std::vector<double> weights = candidate.rollout_weights;
    if (left_out >= 0) weights.erase(weights.begin() + left_out);
    log_weights.push_back(candidate.log_weight + log_mean_exp(weights));
  }
  return normalised(std::move(log_weights));
}

double chunk_logprob(const Beam& beam) {
  double sum = 0;
  for (std::size_t i = beam.block_start; i < beam.tokens.size(); ++i) sum += beam.logprobs.base[i];
  return sum;
}

// log of p(chunk)^alpha / q(chunk) over the tokens from `start` on.
double importance(const Beam& beam, std::size_t start, double alpha) {
  double sum = 0;
  for (std::size_t i = start; i < beam.tokens.size(); ++i)
    sum += alpha * beam.logprobs.base[i] - beam.logprobs.drawn[i];
  return sum;
}

// The distinct chunks, likeliest first, at most `count`; the rest is marked in the trace.
std::vector<Beam> likeliest(std::vector<Beam> beams, std::size_t count, Recorder& recorder) {
  std::map<std::vector<TokenId>, bool> seen;
  std::vector<Beam> distinct;
  for (Beam& beam : beams) {
    recorder.fate(beam, Fate::Pruned);
    if (!seen.emplace(beam.tokens, true).second)
      recorder.fate(beam, Fate::Duplicate);
    else
      distinct.push_back(std::move(beam));
  }
  std::stable_sort(distinct.begin(), distinct.end(), [](const Beam& a, const Beam& b) {
    return chunk_logprob(a) > chunk_logprob(b);
  });
  if (distinct.size() > count)
    distinct.erase(distinct.begin() + static_cast<std::ptrdiff_t>(count), distinct.end());
  return distinct;
}

// Rollout weights of every candidate; 0 (zeta = 1) where an answer has no future.
std::vector<PowerCandidate> weigh(const Task& task, const std::vector<Beam>& candidates,
                                  const Settings& settings, int horizon, std::uint32_t block,
                                  Ledger& ledger) {
  const auto rollouts = static_cast<std::size_t>(settings.rollouts);
  std::vector<Beam> futures;
  std::vector<std::uint32_t> places;
  for (const Beam& candidate : candidates) {
    for (std::size_t r = 0; r < rollouts && horizon > 0 && !candidate.ended; ++r) {
      places.push_back(static_cast<std::uint32_t>(settings.draws) +
                       static_cast<std::uint32_t>(futures.size()));
      futures.push_back(candidate.fork());
    }
  }
  if (!futures.empty()) extend_beams(task, futures, horizon, settings, block, ledger, places);
  std::vector<PowerCandidate> weighed;
  std::size_t next = 0;
  for (const Beam& candidate : candidates) {
    PowerCandidate& result = weighed.emplace_back();
    result.log_weight = settings.alpha * chunk_logprob(candidate);
    result.rollout_weights.assign(rollouts, 0.0);
    if (horizon <= 0 || candidate.ended) continue;
    for (double& weight : result.rollout_weights) {
      const Beam& future = futures[next++];
      weight = importance(future, candidate.tokens.size(), settings.alpha);
    }
  }
  return weighed;
}

std::size_t draw(const std::vector<double>& probabilities, double u) {
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    u -= probabilities[i];
    if (u < 0) return i;
  }
  // Rounding left a crumb: the last candidate that can be drawn at all.
  std::size_t last = 0;
  for (std::size_t i = 0; i < probabilities.size(); ++i)
    if (probabilities[i] > 0) last = i;
  return last;
}

}  // namespace

std::vector<double> power_probabilities(const std::vector<PowerCandidate>& candidates,
                                        bool jackknife) {
  CB_CHECK(!candidates.empty());
  std::vector<double> plain = estimate(candidates, -1);
  const auto rollouts = static_cast<int>(candidates[0].rollout_weights.size());
  if (!jackknife || rollouts < 2) return plain;
  std::vector<double> corrected(plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) corrected[i] = rollouts * plain[i];
  for (int s = 0; s < rollouts; ++s) {
    const std::vector<double> without = estimate(candidates, s);
    for (std::size_t i = 0; i < plain.size(); ++i)
      corrected[i] -= (rollouts - 1.0) / rollouts * without[i];
  }
  double sum = 0;
  for (double& probability : corrected) sum += probability = std::max(0.0, probability);
  for (double& probability : corrected) probability /= sum;
  return corrected;
}

SearchResult power_sampling(const Task& task, const Settings& settings, const SearchHooks& hooks) {
  SearchResult result;
  Recorder recorder(settings, task.prompts);
  const int limit = answer_limit(task, settings);
  const int blocks = (limit + settings.block - 1) / settings.block;
  Beam answer = open_beam(task, result.ledger);
  for (int t = 0; t < blocks && !answer.ended; ++t) {
    const auto block = static_cast<std::uint32_t>(t);
    const int tokens = std::min(settings.block, limit - t * settings.block);
    const int horizon = std::min(settings.horizon, limit - t * settings.block - tokens);
    std::vector<Beam> candidates;
    std::vector<double> probabilities;
    try {
      std::vector<Beam> chunks;
      for (int i = 0; i < settings.draws; ++i) chunks.push_back(answer.fork());
      extend_beams(task, chunks, tokens, settings, block, result.ledger);
      recorder.block(chunks);
      candidates =
          likeliest(std::move(chunks), static_cast<std::size_t>(settings.candidates), recorder);
      probabilities = power_probabilities(
          weigh(task, candidates, settings, horizon, block, result.ledger), settings.jackknife);
    } catch (const Error& error) {
      if (t == 0 || !ends_with_partial(error, hooks)) throw;
      result.interrupted = true;
      break;
    }
    const DrawKey key{task.seed, task.question, block, kMostBeams - 1, 0, DrawUse::PowerChoice};
    answer = std::move(candidates[draw(probabilities, uniform(key))]);
    const bool last = answer.ended || t == blocks - 1;
    recorder.fate(answer, last ? Fate::Finished : Fate::Kept);
    report_single(hooks, t + 1, blocks, answer, last, result.ledger, recorder.last_block());
  }
  recorder.pool(answer);
  recorder.selected(answer);
  result.pool.push_back(std::move(answer));
  result.trace = recorder.take();
  return result;
}

}  // namespace counterbeam
