#include "diagnose/separation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "eval/separation.h"

namespace counterbeam {
namespace {

struct SplitScores {
  std::vector<double> right, wrong;  // sorted
  bool mixed() const { return !right.empty() && !wrong.empty(); }
};

SplitScores split_scores(std::span<const ScoredAnswers> questions) {
  SplitScores split;
  for (const ScoredAnswers& answers : questions)
    for (const ScoredSample& answer : answers)
      (answer.correct ? split.right : split.wrong).push_back(answer.score);
  std::sort(split.right.begin(), split.right.end());
  std::sort(split.wrong.begin(), split.wrong.end());
  return split;
}

// How many of the sorted values are below, ties counted half.
double below(const std::vector<double>& sorted, double value) {
  const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
  return static_cast<double>(first - sorted.begin()) + static_cast<double>(last - first) / 2;
}

// The number of pairs of a right and a wrong answer in which the right one is higher.
double concordant(const SplitScores& split) {
  double count = 0;
  for (const double score : split.right) count += below(split.wrong, score);
  return count;
}

double auc_of(const SplitScores& split) {
  CB_CHECK(split.mixed());
  return concordant(split) /
         (static_cast<double>(split.right.size()) * static_cast<double>(split.wrong.size()));
}

// The pooled AUC without each question in turn. Empty if one question has all right or all wrong
// answers.
std::vector<double> jackknife_aucs(std::span<const ScoredAnswers> questions,
                                   const SplitScores& all) {
  const double total = concordant(all);
  const auto right = static_cast<double>(all.right.size());
  const auto wrong = static_cast<double>(all.wrong.size());
  std::vector<double> values;
  for (const ScoredAnswers& answers : questions) {
    const SplitScores own = split_scores({&answers, 1});
    double lost = -concordant(own);  // pairs within the question are counted twice below
    for (const double score : own.right) lost += below(all.wrong, score);
    for (const double score : own.wrong) lost += right - below(all.right, score);
    const double pairs = (right - static_cast<double>(own.right.size())) *
                         (wrong - static_cast<double>(own.wrong.size()));
    if (pairs == 0) return {};
    values.push_back((total - lost) / pairs);
  }
  return values;
}

double jackknife_variance(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, square = 0;
  for (const double value : values) mean += value / n;
  for (const double value : values) square += std::pow(value - mean, 2);
  return square * (n - 1) / n;
}

}  // namespace

std::vector<double> question_aucs(std::span<const ScoredAnswers> questions) {
  std::vector<double> values;
  for (const ScoredAnswers& answers : questions)
    if (const std::optional<double> value = auc(answers)) values.push_back(*value);
  return values;
}

double pooled_auc(std::span<const ScoredAnswers> questions) {
  return auc_of(split_scores(questions));
}

Separation separation(std::span<const ScoredAnswers> questions) {
  Separation result;
  for (const ScoredAnswers& answers : questions) {
    const SplitScores split = split_scores({&answers, 1});
    result.questions += split.mixed();
    result.comparisons += static_cast<std::int64_t>(split.right.size() * split.wrong.size());
  }
  const std::vector<double> aucs = question_aucs(questions);
  if (!aucs.empty()) result.within = mean_share(aucs, static_cast<double>(result.comparisons));
  const SplitScores all = split_scores(questions);
  if (!all.mixed()) return result;
  const std::vector<double> without = jackknife_aucs(questions, all);
  if (!without.empty())
    result.pooled = share_interval(auc_of(all), jackknife_variance(without),
                                   static_cast<double>(questions.size()) - 1,
                                   static_cast<double>(all.right.size() + all.wrong.size()));
  return result;
}

Interval clustered_mean(std::span<const ClusterSum> questions) {
  CB_CHECK(!questions.empty());
  double sum = 0, count = 0, square = 0;
  for (const ClusterSum& question : questions) {
    sum += question.sum;
    count += question.count;
  }
  const double mean = sum / count;
  const auto n = static_cast<double>(questions.size());
  if (n == 1)
    return {mean, -std::numeric_limits<double>::infinity(),
            std::numeric_limits<double>::infinity()};
  for (const ClusterSum& question : questions)
    square += std::pow(question.sum - mean * question.count, 2);
  const double half = student_95(n - 1) * std::sqrt(square * n / (n - 1)) / count;
  return {mean, mean - half, mean + half};
}

}  // namespace counterbeam
