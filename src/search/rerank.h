// Best-of-n under several pairs of contexts at once. Contexts rank the samples of best-of-n and do
// not change them, so the answers are drawn once and read under each pair. Every result is what
// best_of_n alone gives: same answers, same choice.
#pragma once

#include <span>

#include "search/search.h"

namespace counterbeam {

struct Ranking {
  Prompts prompts;  // base as in the task; with a pair or without
  double steer = 0;
  Aggregate aggregate = Aggregate::Mean;
};

// One result per ranking, in order, without traces. A result's ledger says what it would have cost
// alone. REQUIRES task.prompts without contrast, and settings of best-of-n.
std::vector<SearchResult> rerank(const Task& task, const Settings& settings,
                                 std::span<const Ranking> rankings);

}  // namespace counterbeam
