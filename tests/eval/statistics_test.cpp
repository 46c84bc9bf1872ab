#include "eval/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace counterbeam {
namespace {

using Tallies = std::vector<QuestionTally>;

Tallies single(int right, int wrong) {
  Tallies tallies(static_cast<std::size_t>(right), {1, 1});
  tallies.resize(static_cast<std::size_t>(right + wrong), {0, 1});
  return tallies;
}

TEST(Accuracy, OneSamplePerQuestionIsWilson) {
  const Interval interval = accuracy(single(50, 50));
  EXPECT_DOUBLE_EQ(interval.mean, 0.5);
  EXPECT_NEAR(interval.low, 0.4038, 1e-4);  // Wilson, n = 100
  EXPECT_NEAR(interval.high, 0.5962, 1e-4);
}

TEST(Accuracy, AllRightStillHasAnInterval) {
  const Interval interval = accuracy(single(20, 0));
  EXPECT_DOUBLE_EQ(interval.mean, 1);
  EXPECT_NEAR(interval.low, 0.8389, 1e-4);  // Wilson, 20 of 20
  EXPECT_DOUBLE_EQ(interval.high, 1);
}

TEST(Accuracy, RepeatedSamplesDoNotNarrowTheInterval) {
  // All samples of a question agree, so eight give no more information than one.
  Tallies repeated;
  for (int i = 0; i < 100; ++i) repeated.push_back({i < 50 ? 8 : 0, 8});
  const Interval many = accuracy(repeated), one = accuracy(single(50, 50));
  EXPECT_LE(many.low, one.low);
  EXPECT_GE(many.high, one.high);
  EXPECT_NEAR(many.low, one.low, 0.003);  // n - 1 and Student's t widen it a little
}

TEST(Accuracy, FewQuestionsThatAgreeByChanceAreNoCertainty) {
  // 2 questions of 100 samples with shares .50 and .51: the spread of two means says little.
  const Interval interval = accuracy(Tallies{{50, 100}, {51, 100}});
  EXPECT_DOUBLE_EQ(interval.mean, 0.505);
  EXPECT_LT(interval.low, 0.505 - 0.06);  // at most 200 independent samples
  EXPECT_GT(interval.high, 0.505 + 0.06);
  EXPECT_LT(accuracy(Tallies{{7, 10}}).low, 0.3);  // one question is one question
}

TEST(Accuracy, IntervalsOfFewQuestionsCoverTheTruth) {
  std::mt19937 random(5);
  for (const int questions : {8, 20, 60}) {
    int covered = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      Tallies tallies;
      for (int q = 0; q < questions; ++q) {
        const double p = std::uniform_real_distribution<double>(0.2, 0.8)(random);
        tallies.push_back({std::binomial_distribution<int>(16, p)(random), 16});
      }
      const Interval interval = accuracy(tallies);
      covered += interval.low <= 0.5 && 0.5 <= interval.high;
    }
    EXPECT_GT(covered, 0.93 * 2000) << questions;
    EXPECT_LT(covered, 0.97 * 2000) << questions;
  }
}

TEST(Accuracy, IntervalCoversTheTruth) {
  std::mt19937 random(4);
  int covered = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    Tallies tallies;
    for (int q = 0; q < 120; ++q) {
      const double p = std::uniform_real_distribution<double>(0, 1)(random);  // mean 1/2
      tallies.push_back({std::binomial_distribution<int>(4, p)(random), 4});
    }
    const Interval interval = accuracy(tallies);
    covered += interval.low <= 0.5 && 0.5 <= interval.high;
  }
  EXPECT_GT(covered, 930);
  EXPECT_LT(covered, 970);
}

TEST(PassAtK, UnbiasedFormula) {
  EXPECT_NEAR(pass_at_k(Tallies{{1, 4}}, 1)->mean, 0.25, 1e-12);
  EXPECT_NEAR(pass_at_k(Tallies{{1, 4}}, 2)->mean, 0.5, 1e-12);  // 1 - C(3,2)/C(4,2)
  EXPECT_NEAR(pass_at_k(Tallies{{3, 4}}, 2)->mean, 1, 1e-12);
  EXPECT_NEAR(pass_at_k(Tallies{{0, 4}, {4, 4}}, 3)->mean, 0.5, 1e-12);
  EXPECT_FALSE(pass_at_k(Tallies{{1, 4}, {1, 2}}, 3));
}

TEST(PassAtK, IntervalsOfQuestionsAndNotOfSamples) {
  Tallies questions;
  for (int i = 0; i < 40; ++i) questions.push_back({i % 5, 4});
  const Interval one = *pass_at_k(questions, 1), all = accuracy(questions);
  EXPECT_EQ(one.mean, all.mean);
  EXPECT_EQ(one.low, all.low);
  EXPECT_EQ(one.high, all.high);
  Tallies solved;  // with k = n a question is solved or it is not: one sample per question
  for (const QuestionTally& question : questions) solved.push_back({question.correct > 0, 1});
  const Interval four = *pass_at_k(questions, 4), plain = accuracy(solved);
  EXPECT_NEAR(four.mean, plain.mean, 1e-12);
  EXPECT_NEAR(four.low, plain.low, 0.015);
  EXPECT_NEAR(four.high, plain.high, 0.015);
  const Interval perfect = *pass_at_k(Tallies{{4, 4}, {4, 4}, {4, 4}}, 2);
  EXPECT_EQ(perfect.mean, 1);
  EXPECT_LT(perfect.low, 0.8) << "three questions are not certainty";
}

TEST(PairedTest, McNemarExact) {
  // 10 questions only b solves, 2 only a: two-sided p = 2 * P(X <= 2 | 12, 1/2) = 158/4096.
  Tallies a, b;
  for (int i = 0; i < 10; ++i) a.push_back({0, 1}), b.push_back({1, 1});
  for (int i = 0; i < 2; ++i) a.push_back({1, 1}), b.push_back({0, 1});
  for (int i = 0; i < 30; ++i) a.push_back({1, 1}), b.push_back({1, 1});
  const PairedTest test = paired_test(a, b);
  EXPECT_TRUE(test.exact);
  EXPECT_NEAR(test.p_value, 158.0 / 4096, 1e-9);
  EXPECT_NEAR(test.difference, 8.0 / 42, 1e-12);
}

TEST(PairedTest, PermutationAgreesWithMcNemarAndWithNoDifference) {
  Tallies a, b, a2, b2;
  for (int i = 0; i < 60; ++i) {
    a.push_back({i % 3 == 0, 1}), b.push_back({i % 3 != 1, 1});
    a2.push_back({2 * (i % 3 == 0), 2}), b2.push_back({2 * (i % 3 != 1), 2});
  }
  EXPECT_FALSE(paired_test(a2, b2).exact);
  EXPECT_NEAR(paired_test(a2, b2).p_value, paired_test(a, b).p_value, 0.01);
  EXPECT_EQ(paired_test(a, a).p_value, 1);
  EXPECT_NEAR(paired_test(a2, a2).p_value, 1, 1e-9);
}

TEST(PairedTest, WeightsMakeTasksCountTheSame) {
  // 10 questions of one task that b gains, 90 of another that it loses, each task with weight 1.
  Tallies a, b;
  for (int i = 0; i < 10; ++i) a.push_back({0, 1, 0.1}), b.push_back({1, 1, 0.1});
  for (int i = 0; i < 90; ++i) a.push_back({1, 1, 1.0 / 90}), b.push_back({0, 1, 1.0 / 90});
  const PairedTest test = paired_test(a, b);
  EXPECT_FALSE(test.exact);
  EXPECT_NEAR(test.difference, 0, 1e-12);
  EXPECT_GT(test.p_value, 0.9);
}

TEST(PairedTest, EqualMethodsDifferInFiveOfAHundredTrials) {
  std::mt19937 random(6);
  int rejected = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    Tallies a, b;
    for (const int questions : {15, 60})
      for (int q = 0; q < questions; ++q) {
        const double p = std::uniform_real_distribution<double>(0, 1)(random);
        std::binomial_distribution<int> draw(3, p);
        a.push_back({draw(random), 3, 1.0 / questions});
        b.push_back({draw(random), 3, 1.0 / questions});
      }
    rejected += paired_test(a, b).p_value < 0.05;
  }
  EXPECT_GE(rejected, 0.03 * kTrials);
  EXPECT_LE(rejected, 0.07 * kTrials);
}

}  // namespace
}  // namespace counterbeam
