// Simulated evaluations with a known truth: the intervals of the summary must contain it in 93 to
// 97 of 100 runs, and equal methods may differ "significantly" in 3 to 7 of 100.
#include <gtest/gtest.h>

#include <random>

#include "eval/summary.h"

namespace counterbeam {
namespace {

// A task whose questions have success probabilities from a beta distribution.
struct SimulatedTask {
  int questions, samples;
  double a, b;

  double truth() const { return a / (a + b); }
};

using Design = std::vector<SimulatedTask>;

const Design kDesigns[] = {
    {{100, 1, 2, 2}},
    {{100, 4, 1, 9}},
    {{50, 8, 9, 1}},
    {{15, 1, 2, 2}, {60, 1, 2, 2}},
    {{15, 4, 1, 4}, {90, 4, 4, 1}},
    {{20, 4, 1, 9}, {120, 1, 2, 2}},
    {{30, 1, 1, 4}, {60, 1, 2, 2}, {120, 1, 4, 1}},
};

// One evaluation; the methods answer every question with the same probability of success.
EvalSummary simulated(const Design& design, const std::vector<std::string>& methods,
                      std::mt19937& random) {
  std::vector<Sample> samples;
  for (std::size_t t = 0; t < design.size(); ++t)
    for (int q = 0; q < design[t].questions; ++q) {
      const double x = std::gamma_distribution<double>(design[t].a, 1)(random);
      const double y = std::gamma_distribution<double>(design[t].b, 1)(random);
      std::bernoulli_distribution right(x / (x + y));
      for (const std::string& method : methods)
        for (int k = 0; k < design[t].samples; ++k) {
          Sample& sample = samples.emplace_back();
          sample.task = std::to_string(t);
          sample.id = std::to_string(q);
          sample.method = method;
          sample.sample = k;
          sample.correct = sample.correct_strict = right(random);
        }
    }
  return summarise(samples);
}

// The row of the whole evaluation: the average, or the only task.
const TaskSummary& whole(const EvalSummary& summary) {
  return summary.tasks.size() > 1 ? summary.average : summary.tasks[0];
}

TEST(SummaryStatistics, IntervalsContainTheTruthInNinetyFiveOfAHundredRuns) {
  constexpr int kRuns = 1000;
  std::mt19937 random(1);
  for (const Design& design : kDesigns) {
    double truth = 0;
    for (const SimulatedTask& task : design)
      truth += task.truth() / static_cast<double>(design.size());
    int covered = 0;
    for (int run = 0; run < kRuns; ++run) {
      const EvalSummary summary = simulated(design, {"a"}, random);
      const Interval interval = whole(summary).methods[0].accuracy;
      covered += interval.low <= truth && truth <= interval.high;
    }
    EXPECT_GE(covered, 0.93 * kRuns) << "design " << &design - kDesigns;
    EXPECT_LE(covered, 0.97 * kRuns) << "design " << &design - kDesigns;
  }
}

TEST(SummaryStatistics, EqualMethodsDifferInFiveOfAHundredRuns) {
  constexpr int kRuns = 400;
  std::mt19937 random(2);
  for (const Design& design : kDesigns) {
    int rejected = 0;
    for (int run = 0; run < kRuns; ++run) {
      const EvalSummary summary = simulated(design, {"a", "b"}, random);
      rejected += whole(summary).pairs[0].test.p_value < 0.05;
    }
    EXPECT_GE(rejected, 0.03 * kRuns) << "design " << &design - kDesigns;
    EXPECT_LE(rejected, 0.07 * kRuns) << "design " << &design - kDesigns;
  }
}

}  // namespace
}  // namespace counterbeam
