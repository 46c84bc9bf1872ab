// A search: one question in, a pool of answers and the choice among them out. Every method is a
// plain sequential function over an Engine; many may run at once, each on its own thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "search/beams.h"
#include "search/trace.h"

namespace counterbeam {

struct SearchResult {
  std::vector<Candidate> pool;  // every answer that was closed, in order of closing
  std::size_t selected = 0;     // index into pool
  Ledger ledger;
  Trace trace;

  const Candidate& answer() const { return pool[selected]; }
};

// What a live view is told after every block.
struct BlockReport {
  int block = 0;             // counted from 1
  int blocks = 0;            // at most
  std::size_t alive = 0;     // beams that go on
  std::size_t finished = 0;  // answers in the pool
  double best = 0;           // score, alive or finished
  std::int64_t generated_tokens = 0;
  std::vector<TokenId> agreed;  // what every answer that can still be chosen begins with
};

struct SearchHooks {
  std::function<void(const BlockReport&)> on_block;
  // self-consistency: the answer to vote with, read from an answer's tokens; nothing abstains.
  std::function<std::optional<std::string>(const std::vector<TokenId>&)> vote;
};

// Runs the method the settings name. REQUIRES valid settings.
SearchResult run_search(const Task& task, const Settings& settings, const SearchHooks& hooks = {});

// One per method.
SearchResult contrastive_beam_search(
    const Task& task, const Settings& settings,
    const SearchHooks& hooks);  // cbs, beam, sample, low-temperature
SearchResult best_of_n(const Task& task, const Settings& settings, const SearchHooks& hooks);
SearchResult self_consistency(const Task& task, const Settings& settings, const SearchHooks& hooks);
SearchResult power_sampling(const Task& task, const Settings& settings, const SearchHooks& hooks);
SearchResult mcmc_power_sampling(const Task& task, const Settings& settings,
                                 const SearchHooks& hooks);
SearchResult token_contrast(const Task& task, const Settings& settings, const SearchHooks& hooks);

// Index of the highest score, the earliest on ties. REQUIRES a non-empty pool.
std::size_t best_index(const std::vector<Candidate>& pool);

}  // namespace counterbeam
