// The naive per-token policy: every token is drawn from pi(a_t) exp(r_t / alpha), renormalised, as
// if the future correction were 1; or from one of its token-level relatives (classifier-free
// guidance, context-aware decoding), with an optional plausibility cut. One answer, no ranking.
#include "search/search.h"

namespace counterbeam {

SearchResult token_contrast(const Task& task, const Settings& settings, const SearchHooks& hooks) {
  Settings single = settings;
  single.beams = single.prune = 1;
  return contrastive_beam_search(task, single, hooks);
}

}  // namespace counterbeam
