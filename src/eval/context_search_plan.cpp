// What a search for contexts will do, before a model is loaded.
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "eval/context_search.h"
#include "search/context_book.h"
#include "search/methods.h"

namespace counterbeam {
namespace {

constexpr const char* kNoContrast = "none";
constexpr const char* kControl = "neutral";

// Keeps the first of the problems with the same question. Returns how many were removed.
int remove_repeats(TaskData& task) {
  std::set<std::string> seen;
  return static_cast<int>(std::erase_if(task.problems, [&](const Problem& problem) {
    return !seen.insert(problem.question.text).second;
  }));
}

void shuffle(TaskData& task, std::uint64_t seed) {
  for (std::size_t i = task.problems.size(); i > 1; --i) {
    const DrawKey key = {
        .seed = seed, .position = static_cast<std::uint32_t>(i), .use = DrawUse::ProblemOrder};
    std::swap(task.problems[i - 1], task.problems[uniform_below(key, i)]);
  }
}

void check_numbers(const ContextSearchPlan& plan) {
  const Contest& contest = plan.contest;
  const int problems = static_cast<int>(plan.task.problems.size());
  if (contest.dev + contest.confirm > problems)
    bad_input(
        "{} has {} different problems{}, too few for --dev {} and {} others that confirm "
        "(--confirm); together they may be {}",
        plan.task.name, problems,
        plan.repeated > 0 ? fmt::format(" ({} more repeat a question)", plan.repeated) : "",
        contest.dev, contest.confirm, problems);
  if (const int least = fewest_to_confirm(contest); contest.confirm < least)
    bad_input(
        "--confirm {}: so few problems cannot show that a pair is better, even if it is better on "
        "every one of them; give at least {}",
        contest.confirm, least);
  try {
    rounds_of(contest);
  } catch (const Error& error) {
    bad_input("--dev {}: {}; give more, or fewer candidates by --pairs", contest.dev, error.what());
  }
}

}  // namespace

const ContextPair* pair_named(const std::vector<ContextPair>& pairs, std::string_view name) {
  const auto found = std::find_if(pairs.begin(), pairs.end(),
                                  [&](const ContextPair& pair) { return pair.name == name; });
  return found == pairs.end() ? nullptr : &*found;
}

MethodString with_pair(const MethodString& method, const ContextPair& pair) {
  MethodString result = {fmt::format("{}:contexts={}", method.text, pair.name), method.settings};
  result.settings.contexts = pair.name;
  result.settings.positive = pair.positive;
  result.settings.negative = pair.negative;
  return result;
}

MethodString without_pair(const MethodString& method) {
  MethodString result = {fmt::format("{}:contexts={}", method.text, kNoContrast), method.settings};
  result.settings.contexts = kNoContrast;
  result.settings.positive = result.settings.negative = "";
  return result;
}

ContextSearchPlan plan_context_search(TaskData task, const ContextSearchOptions& options) {
  ContextSearchPlan plan;
  plan.task = std::move(task);
  plan.repeated = remove_repeats(plan.task);
  shuffle(plan.task, options.run.seed);
  Contest& contest = plan.contest;
  contest.baseline = kNoContrast;
  contest.control = kControl;
  contest.standard = Settings().contexts;
  contest.dev = options.dev;
  contest.confirm = options.confirm > 0 ? options.confirm : options.dev;
  contest.newcomers = options.paraphrases;
  for (const ContextPair& pair : options.candidates) {
    contest.candidates.push_back(pair.name);
    plan.pairs.push_back(pair);
  }
  contest.finalists = std::min(options.finalists, static_cast<int>(contest.candidates.size()));
  for (const std::string& name : {contest.standard, contest.control})
    if (!pair_named(plan.pairs, name)) plan.pairs.push_back(ContextBook().at(name));
  check_numbers(plan);
  return plan;
}

std::string to_text(const ContextSearchPlan& plan, const ContextSearchOptions& options) {
  const Contest& contest = plan.contest;
  std::vector<int> problems, pairs;
  int alive = static_cast<int>(contest.candidates.size()) + contest.newcomers;
  for (const Portion& portion : rounds_of(contest)) {
    problems.push_back(portion.count);
    pairs.push_back(alive);
    alive = std::min(alive, survivors(alive, contest.finalists));
  }
  return fmt::format(
      "{}: {} round{} over {} problems with {} pairs, a control and no contrast, by {}; then {} "
      "other problems for {}, the default pair and no contrast, by {}\n",
      plan.task.name, problems.size(), problems.size() == 1 ? "" : "s", fmt::join(problems, ", "),
      fmt::join(pairs, ", "), options.screen.text, contest.confirm,
      alive == 1 ? "the best" : fmt::format("the best {}", alive), options.method.text);
}

}  // namespace counterbeam
