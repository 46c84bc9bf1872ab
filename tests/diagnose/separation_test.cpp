// AUC within questions and pooled, and means clustered by question: by hand, by definition, and the
// coverage of their intervals in simulations.
#include "diagnose/separation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace counterbeam {
namespace {

ScoredAnswers answers(std::initializer_list<double> right, std::initializer_list<double> wrong) {
  ScoredAnswers list;
  for (const double score : right) list.push_back({score, true});
  for (const double score : wrong) list.push_back({score, false});
  return list;
}

TEST(Separation, ByHandWithTies) {
  // 2 > 1, 2 = 2 (half), 3 > 1, 3 > 2: 3.5 of 4.
  const std::vector<ScoredAnswers> one = {answers({2, 3}, {1, 2})};
  EXPECT_DOUBLE_EQ(question_aucs(one)[0], 0.875);
  EXPECT_DOUBLE_EQ(pooled_auc(one), 0.875);
  const std::vector<ScoredAnswers> several = {answers({2, 3}, {1, 2}), answers({}, {9}),
                                              answers({0}, {5, 6}), answers({7}, {})};
  const Separation result = separation(several);
  EXPECT_EQ(result.questions, 2);
  EXPECT_EQ(result.comparisons, 4 + 2);
  ASSERT_TRUE(result.within && result.pooled);
  EXPECT_DOUBLE_EQ(result.within->mean, (0.875 + 0) / 2);
  // Right 2, 3, 0, 7 against wrong 1, 2, 9, 5, 6: 1.5 + 2 + 0 + 4 of 20.
  EXPECT_DOUBLE_EQ(result.pooled->mean, 7.5 / 20);
}

TEST(Separation, NothingToCompare) {
  for (const std::vector<ScoredAnswers>& questions : {std::vector<ScoredAnswers>{},
                                                      {answers({1, 2}, {})},
                                                      {answers({}, {1}), answers({}, {2})}}) {
    const Separation result = separation(questions);
    EXPECT_EQ(result.questions, 0);
    EXPECT_FALSE(result.within);
    EXPECT_FALSE(result.pooled);
  }
  // No question has both, but right and wrong answers can be pooled.
  const std::vector<ScoredAnswers> apart = {answers({3}, {}), answers({4}, {}), answers({}, {1}),
                                            answers({}, {2})};
  EXPECT_FALSE(separation(apart).within);
  ASSERT_TRUE(separation(apart).pooled);
  EXPECT_DOUBLE_EQ(separation(apart).pooled->mean, 1);
  EXPECT_LT(separation(apart).pooled->low, 0.8);  // four answers prove little
}

TEST(Separation, IsTheShareOfPairsAndKnowsNoScale) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> score(0, 5);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<ScoredAnswers> questions(1 + random() % 6), bent, turned;
    for (ScoredAnswers& list : questions)
      for (int i = 0; i < 6; ++i)
        list.push_back({static_cast<double>(score(random)), random() % 2 == 0});
    double pairs = 0, higher = 0;
    for (const ScoredAnswers& a : questions)
      for (const ScoredSample& right : a)
        for (const ScoredAnswers& b : questions)
          for (const ScoredSample& wrong : b)
            if (right.correct && !wrong.correct) {
              pairs += 1;
              higher += right.score > wrong.score ? 1 : right.score == wrong.score ? 0.5 : 0;
            }
    if (pairs == 0) continue;
    EXPECT_NEAR(pooled_auc(questions), higher / pairs, 1e-12);
    bent = turned = questions;
    for (ScoredAnswers& list : bent)
      for (ScoredSample& one : list) one.score = std::exp(one.score);
    for (ScoredAnswers& list : turned)
      for (ScoredSample& one : list) one.score = -one.score;
    EXPECT_DOUBLE_EQ(pooled_auc(bent), pooled_auc(questions));
    EXPECT_NEAR(pooled_auc(turned), 1 - pooled_auc(questions), 1e-12);
    EXPECT_EQ(question_aucs(bent), question_aucs(questions));
  }
}

// Questions differ in difficulty and in the level of their scores; right answers score higher by
// `shift` standard deviations.
std::vector<ScoredAnswers> simulated(std::mt19937_64& random, int count, int samples,
                                     double shift) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> unit;
  std::vector<ScoredAnswers> questions;
  for (int q = 0; q < count; ++q) {
    const double ease = 1 / (1 + std::exp(-1.5 * normal(random))), level = normal(random);
    ScoredAnswers& list = questions.emplace_back();
    for (int i = 0; i < samples; ++i) {
      const bool right = unit(random) < ease;
      list.push_back({level + normal(random) + (right ? shift : 0), right});
    }
  }
  return questions;
}

TEST(Separation, IntervalsContainTheTruthInNineteenOfTwentySimulations) {
  std::mt19937_64 random(11);
  constexpr int kTrials = 600;
  for (const auto& [count, shift] : {std::pair{25, 0.0}, {60, 0.8}}) {
    const double truth = 0.5 * std::erfc(-shift / 2);  // P(N(shift, 2) > 0)
    // Pooled scores also differ by the level of their question: N(shift, 4).
    const double pooled = 0.5 * std::erfc(-shift / std::sqrt(8.0));
    int within_holds = 0, pooled_holds = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const Separation result = separation(simulated(random, count, 8, shift));
      within_holds += result.within->low <= truth && truth <= result.within->high;
      pooled_holds += result.pooled->low <= pooled && pooled <= result.pooled->high;
    }
    EXPECT_GE(within_holds, 0.93 * kTrials) << shift;
    EXPECT_LE(within_holds, 0.975 * kTrials) << shift;
    // Pairs within a question share its level, so the pooled truth is a little off at 8 samples.
    EXPECT_GE(pooled_holds, 0.92 * kTrials) << shift;
    EXPECT_LE(pooled_holds, 0.98 * kTrials) << shift;
  }
}

TEST(ClusteredMean, ByHand) {
  const ClusterSum two[] = {{6, 2}, {2, 2}};  // means 3 and 1
  const Interval mean = clustered_mean(two);
  EXPECT_DOUBLE_EQ(mean.mean, 2);
  // Residuals 2 and -2: sqrt(8 * 2) / 4 = 1 standard error, and t with one degree of freedom.
  EXPECT_NEAR(mean.high - mean.mean, 12.706, 1e-3);
  EXPECT_NEAR(mean.mean - mean.low, 12.706, 1e-3);
  const ClusterSum one[] = {{6, 2}};
  EXPECT_DOUBLE_EQ(clustered_mean(one).mean, 3);
  EXPECT_FALSE(std::isfinite(clustered_mean(one).low));
}

TEST(ClusteredMean, IntervalCoversWhereValuesOfAQuestionDepend) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  constexpr int kTrials = 600;
  int holds = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<ClusterSum> questions;
    for (int q = 0; q < 30; ++q) {
      const double level = normal(random);
      ClusterSum own{0, static_cast<double>(20 + random() % 60)};
      for (int i = 0; i < own.count; ++i) own.sum += 1 + level + normal(random);
      questions.push_back(own);
    }
    const Interval mean = clustered_mean(questions);
    holds += mean.low <= 1 && 1 <= mean.high;
  }
  EXPECT_GE(holds, 0.93 * kTrials);
  EXPECT_LE(holds, 0.97 * kTrials);
}

}  // namespace
}  // namespace counterbeam
