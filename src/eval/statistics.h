// Honest numbers over evaluation results: accuracy with intervals clustered by question, unbiased
// pass@k, and paired tests between methods.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace counterbeam {

// How one question went: correct answers among the samples taken.
struct QuestionTally {
  int correct = 0;
  int samples = 0;  // > 0
};

struct Interval {
  double mean = 0;
  double low = 0;
  double high = 0;
};

// Mean over questions of the share of correct samples, with a 95 % interval. Samples of a question
// are not independent, so the spread is that of the question means; the interval is Wilson's at the
// sample size that spread amounts to (so that one sample per question gives Wilson's own, and
// 0 or 1 still have an interval). REQUIRES at least one question.
Interval accuracy(std::span<const QuestionTally> questions);

// Probability that at least one of k samples is right: the mean over questions of
// 1 - C(n - c, k) / C(n, k). Nothing when a question has fewer than k samples.
std::optional<double> pass_at_k(std::span<const QuestionTally> questions, int k);

// One sample of a question: its score, and whether it is right.
struct ScoredSample {
  double score = 0;
  bool correct = false;
};

// Expected accuracy when k samples of each question are drawn and the one with the highest score is
// taken (the earlier on ties). Nothing when a question has fewer than k samples.
std::optional<double> best_of_k(std::span<const std::vector<ScoredSample>> questions, int k);

struct PairedTest {
  double difference = 0;  // mean of b - a over questions
  double p_value = 1;     // two-sided
  bool exact = false;     // McNemar's exact test; otherwise sign-flip permutation
};

// Are two methods different on the same questions? One sample each: McNemar, exact. More: random
// sign flips of the differences of question means. REQUIRES equally many questions, in one order.
PairedTest paired_test(std::span<const QuestionTally> a, std::span<const QuestionTally> b);

}  // namespace counterbeam
