// The search for a pair of contexts that suits a model and a task: candidates are screened by
// successive halving, and the best is confirmed on other problems (eval/halving.h). Every round is
// the folder of an ordinary evaluation, so that it is resumed, reported and checked like one.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "eval/halving.h"
#include "eval/run.h"
#include "eval/summary.h"
#include "search/contexts.h"
#include "search/paraphrase.h"

namespace counterbeam {

struct ContextSearchOptions {
  std::vector<ContextPair> candidates;  // of different names and texts
  MethodString screen;                  // of the rounds; its contexts are replaced by each pair
  MethodString method;                  // of the confirmation; likewise
  int dev = 0;
  int confirm = 0;  // 0: as many as dev
  int finalists = 1;
  int paraphrases = 0;
  EvalOptions run;  // out, seed, samples, how to run; not the methods and the problems
  std::function<void(const std::string&)> on_text{};  // a table after every round
};

// A search that can be run: everything but the model has been checked.
struct ContextSearchPlan {
  Contest contest;
  TaskData task;                   // in a random order that the seed gives
  std::vector<ContextPair> pairs;  // of all contestants: candidates, default, control
  int repeated = 0;                // problems left out because another has the same question
};

// Problems with the same question count as one; the rest are shuffled by the seed, so that those
// that choose and those that confirm are alike and never overlap. Error with the numbers where the
// task has too few problems, or where so few could not confirm anything.
ContextSearchPlan plan_context_search(TaskData task, const ContextSearchOptions& options);

// "4 rounds over 10, 10, 20, 40 problems ...": what the search will do.
std::string to_text(const ContextSearchPlan& plan, const ContextSearchOptions& options);

// The method with this pair: "cbs:contexts=reasoning".
MethodString with_pair(const MethodString& method, const ContextPair& pair);
// The method without contrast: "cbs:contexts=none".
MethodString without_pair(const MethodString& method);

// Null: there is none of that name.
const ContextPair* pair_named(const std::vector<ContextPair>& pairs, std::string_view name);

struct ContextSearchResult {
  ContestResult contest;
  std::vector<ContextPair> pairs;  // of all contestants, paraphrases included
  Paraphrases paraphrases;
  // Cost and failures by folder ("rounds/1", "confirm").
  std::map<std::string, EvalSummary> heats;
};

// Runs the search in OUT and writes search.json, and winner.json where there is a winner. A search
// that was stopped goes on with `resume`; one with other options is refused. Throws Failed where
// samples failed and failures are not allowed.
ContextSearchResult search_contexts(const LoadedModel& model, const ContextSearchPlan& plan,
                                    const ContextSearchOptions& options);

// search.json: docs/contexts_search.md describes it.
Json to_json(const ContextSearchPlan& plan, const ContextSearchOptions& options);
Json to_json(const ContextSearchPlan& plan, const ContextSearchOptions& options,
             const ContextSearchResult& result);

std::string round_table(const RoundResult& round, int number);
std::string confirmation_table(const ContextSearchOptions& options, const ContestResult& result);
// The outcome in one sentence: "winner: ..." or "no winner: ...".
std::string outcome_sentence(const ContextSearchOptions& options, const Contest& contest,
                             const ContestResult& result);

}  // namespace counterbeam
