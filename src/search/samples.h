// Full, independent samples: what best-of-n and self-consistency choose from.
#pragma once

#include "search/search.h"

namespace counterbeam {

// N answers sampled to their end, none pruned, scored under the contexts when there are any. The
// pool is in beam order; nothing is selected yet.
SearchResult sample_answers(const Task& task, const Settings& settings, const SearchHooks& hooks);

}  // namespace counterbeam
