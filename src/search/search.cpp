#include "search/search.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "search/methods.h"

namespace counterbeam {
namespace {

// Where nothing reshapes the distribution, the log-probabilities of draws are the model's own.
bool draws_plainly(const Settings& settings) {
  return settings.method->find("temperature") && settings.temperature == 1 && settings.top_p == 1 &&
         settings.top_k == 0 && settings.min_p == 0;
}

void check_abilities(const Task& task, const Settings& settings) {
  const Method& method = *settings.method;
  const EngineInfo& engine = task.engine.info();
  const auto refuse = [&](std::string_view need) {
    bad_input("{} needs {}, which this engine ({}) does not give; use another method or engine",
              method.name, need, engine.description);
  };
  if (method.mixture && !engine.abilities.mixtures) refuse("draws from a mixture of prompts");
  if (method.weighs_draws && !engine.abilities.drawn_logprobs && !draws_plainly(settings))
    refuse(method.find("temperature")
               ? "log-probabilities of the distribution that tokens are drawn from unless "
                 "temperature=1"
               : "log-probabilities of the distribution that tokens are drawn from");
  if ((task.prompts.contrast() || method.weighs_draws) && !engine.abilities.given_logprobs)
    refuse("log-probabilities of given tokens");
}

}  // namespace

SearchResult run_search(const Task& task, const Settings& settings, const SearchHooks& hooks) {
  const Method& method = *settings.method;
  if (hooks.scorer && !method.ranked)
    bad_input("{} does not choose by score, so a scorer has no effect on it", method.name);
  CB_CHECK(hooks.vote || !method.votes);
  check_abilities(task, settings);
  const auto start = std::chrono::steady_clock::now();
  Task own = task;
  if (!method.streams || settings.beams > 1 || settings.lookahead > 0) own.on_token = {};
  SearchResult result = method.run(own, settings, hooks);
  result.ledger.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

std::size_t best_index(const std::vector<Candidate>& pool) {
  CB_CHECK(!pool.empty());
  std::size_t best = 0;
  for (std::size_t i = 1; i < pool.size(); ++i)
    if (pool[i].score > pool[best].score) best = i;
  return best;
}

void apply_scorer(const SearchHooks& hooks, std::span<Candidate* const> candidates) {
  if (!hooks.scorer || candidates.empty()) return;
  const std::vector<const Candidate*> seen(candidates.begin(), candidates.end());
  const std::vector<double> scores = hooks.scorer(seen);
  if (scores.size() != candidates.size())
    bad_input("the scorer gave {} scores for {} candidates", scores.size(), candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!std::isfinite(scores[i]))
      bad_input("the scorer gave {} for candidate {}; a finite number is needed", scores[i], i);
    candidates[i]->score = candidates[i]->rank = scores[i];
  }
}

bool ends_with_partial(const Error& error, const SearchHooks& hooks) {
  return hooks.keep_partial && error.kind() == ErrorKind::Cancelled;
}

void report_single(const SearchHooks& hooks, int block, int blocks, const Candidate& answer,
                   bool finished, const Ledger& ledger,
                   std::span<const TraceCandidate> candidates) {
  if (!hooks.on_block) return;
  BlockReport report{.block = block,
                     .blocks = blocks,
                     .alive = finished ? 0u : 1u,
                     .finished = finished ? 1u : 0u,
                     .generated_tokens = ledger.generated_tokens,
                     .candidates = candidates};
  const Candidate* one[] = {&answer};
  report_candidates(report, one);
  hooks.on_block(report);
}

void report_candidates(BlockReport& report, std::span<const Candidate* const> candidates) {
  if (candidates.empty()) return;
  const Candidate* best = candidates[0];
  std::vector<TokenId> agreed = best->tokens;
  for (const Candidate* candidate : candidates) {
    if (candidate->score > best->score) best = candidate;
    const std::vector<TokenId>& tokens = candidate->tokens;
    agreed.erase(std::mismatch(agreed.begin(), agreed.end(), tokens.begin(), tokens.end()).first,
                 agreed.end());
  }
  report.best = best->score;
  report.best_tokens = best->tokens;
  report.agreed = std::move(agreed);
}

}  // namespace counterbeam
