#include "eval/separation.h"

#include <vector>

#include "search/answer.h"

namespace counterbeam {

std::optional<double> auc(std::span<const ScoredSample> candidates) {
  double pairs = 0, ordered = 0;
  for (const ScoredSample& right : candidates)
    for (const ScoredSample& wrong : candidates) {
      if (!right.correct || wrong.correct) continue;
      ++pairs;
      ordered += right.score > wrong.score ? 1 : right.score == wrong.score ? 0.5 : 0;
    }
  if (pairs == 0) return std::nullopt;
  return ordered / pairs;
}

CandidateGrader::CandidateGrader(const LoadedModel& model, const TaskData& task,
                                 const Problem& problem, const CodeJudge* judge)
    : task_(task), problem_(problem), judge_(judge), stops_(stops_of(model, problem.question)) {}

std::optional<double> CandidateGrader::separation(const SearchResult& result) {
  std::vector<ScoredSample> candidates;
  for (const Candidate& candidate : result.pool)
    candidates.push_back({candidate.score, correct(stops_.text(candidate.tokens))});
  return auc(candidates);
}

bool CandidateGrader::correct(const std::string& text) {
  const auto [place, fresh] = graded_.try_emplace(text);
  if (fresh) {
    Sample sample;
    sample.answer = text;
    sample.permutation = problem_.permutation;
    grade_sample(task_, problem_, judge_, sample);
    place->second = sample.correct;
  }
  return place->second;
}

}  // namespace counterbeam
