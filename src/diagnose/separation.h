// How well a number separates right answers from wrong ones: the area under the ROC curve (AUC),
// which is the probability that a right answer has the higher number than a wrong one, ties counted
// half. Within questions both answers are to the same question, which is what a search chooses
// between; pooled, they may be to different ones, so that easy questions count in its favour.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "eval/statistics.h"

namespace counterbeam {

using ScoredAnswers = std::vector<ScoredSample>;  // of one question

struct Separation {
  int questions = 0;             // with right and with wrong answers
  std::int64_t comparisons = 0;  // pairs of a right and a wrong answer to the same question
  // Mean of the AUCs of these questions; empty if there is none. Wilson's interval, clustered.
  std::optional<Interval> within;
  // Over all answers; empty unless two questions have right and two have wrong answers. The
  // interval is Wilson's too, with the variance of a jackknife over questions.
  std::optional<Interval> pooled;
};

Separation separation(std::span<const ScoredAnswers> questions);

// The AUC of each question that has right and wrong answers, in order.
std::vector<double> question_aucs(std::span<const ScoredAnswers> questions);

// The AUC of all right against all wrong answers. REQUIRES: there are both.
double pooled_auc(std::span<const ScoredAnswers> questions);

// The sum and the number of the values of a question.
struct ClusterSum {
  double sum = 0;
  double count = 0;  // > 0
};

// The mean of all values of all questions with a 95 % interval (Student's t), clustered by
// question: the linearised variance of a ratio. The ends are not finite for a single question.
// REQUIRES: at least one question.
Interval clustered_mean(std::span<const ClusterSum> questions);

}  // namespace counterbeam
