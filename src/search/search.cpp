#include "search/search.h"

#include <chrono>

#include "base/error.h"

namespace counterbeam {
namespace {

SearchResult dispatch(const Task& task, const Settings& settings, const SearchHooks& hooks) {
  switch (settings.method) {
    case Method::Cbs:
    case Method::Beam:
    case Method::Sample:
    case Method::LowTemperature:
      return contrastive_beam_search(task, settings, hooks);
    case Method::BestOfN:
      return best_of_n(task, settings, hooks);
    case Method::SelfConsistency:
      return self_consistency(task, settings, hooks);
    case Method::Power:
      return power_sampling(task, settings, hooks);
    case Method::McmcPower:
      return mcmc_power_sampling(task, settings, hooks);
    case Method::TokenContrast:
      return token_contrast(task, settings, hooks);
  }
  CB_CHECK(false);
}

}  // namespace

SearchResult run_search(const Task& task, const Settings& settings, const SearchHooks& hooks) {
  const auto start = std::chrono::steady_clock::now();
  SearchResult result = dispatch(task, settings, hooks);
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

}  // namespace counterbeam
