// How well the score of a method separates right answers from wrong ones among the candidates of a
// search. It is less noisy than whether the chosen one is right, because every candidate counts.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "eval/run.h"
#include "eval/statistics.h"
#include "search/search.h"
#include "search/stops.h"

namespace counterbeam {

// The share of pairs of a right and a wrong candidate in which the right one has the higher score;
// equal scores count half. Empty if all are right or all are wrong.
std::optional<double> auc(std::span<const ScoredSample> candidates);

// Grades the candidates of searches for one problem, each text once. REQUIRES that what it is given
// outlives it, and `judge` for code.
class CandidateGrader {
 public:
  CandidateGrader(const LoadedModel& model, const TaskData& task, const Problem& problem,
                  const CodeJudge* judge);

  std::optional<double> separation(const SearchResult& result);

 private:
  bool correct(const std::string& text);

  const TaskData& task_;
  const Problem& problem_;
  const CodeJudge* judge_;
  Stops stops_;
  std::map<std::string, bool> graded_;  // by text
};

}  // namespace counterbeam
