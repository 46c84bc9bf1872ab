// A search: one question in, a pool of answers and the choice among them out. Every method is a
// plain sequential function over an Engine; many may run at once, each on its own thread.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/beams.h"
#include "search/trace.h"

namespace counterbeam {

class Error;

struct SearchResult {
  std::vector<Candidate> pool;  // every answer that was closed, in order of closing
  std::size_t selected = 0;     // index into pool
  bool interrupted = false;     // cancelled: the pool holds what there was at that time
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
  double best = 0;           // score of the best answer so far, alive or finished
  std::int64_t generated_tokens = 0;
  std::vector<TokenId> agreed{};       // shared prefix of every answer that can still be chosen
  std::vector<TokenId> best_tokens{};  // the best answer so far
  std::span<const TraceCandidate> candidates{};  // of this block, where the method is traced
  // Their texts, where answer_question() runs the search. What of `agreed` could still be the
  // beginning of a stop text is left out.
  std::string agreed_text{}, best_text{};
};

struct SearchHooks {
  std::function<void(const BlockReport&)> on_block{};
  // For methods that vote: the answer that a candidate gives; nothing abstains.
  std::function<std::optional<std::string>(const std::vector<TokenId>&)> vote{};
  // Whether two of these answers count as one. Empty: only equal texts.
  std::function<bool(std::string_view, std::string_view)> same_vote{};
  // A score of one's own in place of s(a), for methods that rank: one finite number per candidate,
  // higher is better.
  std::function<std::vector<double>(std::span<const Candidate* const>)> scorer{};
  // When cancelled after the first block: return the best answer so far instead of throwing.
  bool keep_partial = false;
};

// Runs the method of the settings. REQUIRES valid settings. Error where the engine cannot do what
// the method needs, or where a scorer is given to a method that does not rank.
SearchResult run_search(const Task& task, const Settings& settings, const SearchHooks& hooks = {});

// Methods. contrastive_beam_search serves every method that extends, ranks and prunes beams: beam
// search and sampling are special cases of it.
SearchResult contrastive_beam_search(const Task& task, const Settings& settings,
                                     const SearchHooks& hooks);
SearchResult best_of_n(const Task& task, const Settings& settings, const SearchHooks& hooks);
SearchResult self_consistency(const Task& task, const Settings& settings, const SearchHooks& hooks);
SearchResult power_sampling(const Task& task, const Settings& settings, const SearchHooks& hooks);
SearchResult mcmc_power_sampling(const Task& task, const Settings& settings,
                                 const SearchHooks& hooks);

// Shared by the methods.

// Index of the highest score, the earliest on ties. REQUIRES a non-empty pool.
std::size_t best_index(const std::vector<Candidate>& pool);

// Replaces the scores by those of the hooks' scorer, where there is one.
void apply_scorer(const SearchHooks& hooks, std::span<Candidate* const> candidates);

// Whether a method that has an answer so far ends with it instead of passing the error on.
bool ends_with_partial(const Error& error, const SearchHooks& hooks);

// Tells the live view of a method that follows a single answer.
void report_single(const SearchHooks& hooks, int block, int blocks, const Candidate& answer,
                   bool finished, const Ledger& ledger,
                   std::span<const TraceCandidate> candidates = {});

// Fills in best, best_tokens and agreed from the candidates that can still be chosen.
void report_candidates(BlockReport& report, std::span<const Candidate* const> candidates);

}  // namespace counterbeam
