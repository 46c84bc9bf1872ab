// Statistics of evaluation results: accuracy with intervals clustered by question, unbiased pass@k,
// and paired tests between methods.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace counterbeam {

// The result of one question: correct answers among its samples.
struct QuestionTally {
  int correct = 0;
  int samples = 0;    // > 0
  double weight = 1;  // in paired tests: how much the question counts beside the others
  std::optional<double> separation{};  // of right from wrong candidates (eval/separation.h)
};

struct Interval {
  double mean = 0;
  double low = 0;
  double high = 0;
};

// The 97.5 % point of Student's t. REQUIRES: freedom >= 1.
double student_95(double freedom);

// The 95 % interval of a mean within [0, 1] whose variance was estimated with so many degrees of
// freedom: Wilson's for the effective sample size mean (1 - mean) / variance, which lies between 1
// and `most`; where the variance is 0, for freedom + 1 values.
Interval share_interval(double mean, double variance, double freedom, double most);

// The mean of one value within [0, 1] per question, with its interval by share_interval().
// REQUIRES: at least one value.
Interval mean_share(std::span<const double> values, double most);

// The mean over questions of the share of correct samples, with a 95 % interval. With one sample
// per question the interval is Wilson's. Samples of a question are not independent: with several,
// it is Wilson's for the effective sample size, mean (1 - mean) over the variance of the question
// means (n - 1 in its denominator), at most the number of samples, and with Student's t for n - 1
// degrees of freedom. Means of 0 and 1 have an interval too. REQUIRES: at least one question.
Interval accuracy(std::span<const QuestionTally> questions);

// The probability that at least one of k samples is correct: the mean over questions of 1 - C(n -
// c, k) / C(n, k), with a 95 % interval made as that of accuracy(), whose effective sample size is
// at most the number of samples divided by k. Empty if a question has fewer than k samples.
std::optional<Interval> pass_at_k(std::span<const QuestionTally> questions, int k);

// One sample of a question: its score, and whether it is correct.
struct ScoredSample {
  double score = 0;
  bool correct = false;
};

// The expected accuracy if k samples of each question are drawn and the one with the highest score
// is selected (the earliest on ties). Empty if a question has fewer than k samples.
std::optional<double> best_of_k(std::span<const std::vector<ScoredSample>> questions, int k);

struct PairedTest {
  double difference = 0;  // weighted mean of b - a over questions
  double p_value = 1;     // two-sided
  bool exact = false;     // McNemar's exact test; otherwise sign-flip permutation
};

// Tests whether two methods differ on the same questions. With one sample per question and equal
// weights it is McNemar's exact test, otherwise a sign-flip permutation test (mid-p) on the
// weighted question means. REQUIRES: the same questions with the same weights in the same order.
PairedTest paired_test(std::span<const QuestionTally> a, std::span<const QuestionTally> b);

// Holm's step-down correction: p-values, in the order given, that may each be compared with the
// level although several hypotheses are tested. The chance that any true hypothesis is rejected
// stays below the level, however the tests depend on each other.
std::vector<double> holm_corrected(std::span<const double> p_values);

}  // namespace counterbeam
