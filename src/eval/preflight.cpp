#include "eval/preflight.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>
#include <tuple>

#include "base/error.h"
#include "base/parallel_for.h"

namespace counterbeam {
namespace {

// What the prompts of a method depend on beside the question.
using ContextKey = std::tuple<std::string, std::string, std::string>;

ContextKey context_key(const Settings& settings) {
  if (!uses_contexts(settings)) return {};
  const std::optional<ContextPair> pair = chosen_contexts(settings);
  return pair ? ContextKey{pair->positive, pair->negative, settings.joiner} : ContextKey{};
}

// One job for every problem and pair of contexts.
std::vector<const Job*> distinct_prompts(const std::vector<Job>& jobs) {
  std::map<const MethodString*, ContextKey> keys;
  std::set<std::pair<const Problem*, ContextKey>> seen;
  std::vector<const Job*> distinct;
  for (const Job& job : jobs) {
    const auto [key, fresh] = keys.try_emplace(job.method);
    if (fresh) key->second = context_key(job.method->settings);
    if (seen.emplace(job.problem, key->second).second) distinct.push_back(&job);
  }
  return distinct;
}

std::size_t longest_of(const LoadedModel& model, const Job& job) {
  try {
    const Prompts prompts = model.prompts(job.problem->question, job.method->settings);
    return std::max({prompts.base.size(), prompts.positive.size(), prompts.negative.size()});
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Cancelled) throw;
    failed("{}, problem {}, {}: the prompt cannot be rendered: {}", job.task->name, job.problem->id,
           job.method->text, error.what());
  }
}

}  // namespace

void refuse_damaged_weights(const LoadedModel& model, bool allow_failures) {
  if (allow_failures || model.non_finite_weight().empty()) return;
  failed(
      "{}: {}: answers would be those of a damaged model; download the checkpoint again "
      "(--allow-failures runs it anyway, and run.json says so)",
      model.source().location(), model.non_finite_weight());
}

std::int64_t render_all_prompts(const LoadedModel& model, const std::vector<Job>& jobs) {
  const std::vector<const Job*> distinct = distinct_prompts(jobs);
  std::vector<std::size_t> lengths(distinct.size());
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  parallel_for(distinct.size(), cores,
               [&](std::size_t i) { lengths[i] = longest_of(model, *distinct[i]); });
  const auto longest = std::max_element(lengths.begin(), lengths.end());
  return longest == lengths.end() ? 0 : static_cast<std::int64_t>(*longest);
}

}  // namespace counterbeam
