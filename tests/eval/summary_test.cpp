// Summaries of small tables, checked by hand.
#include "eval/summary.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"

namespace counterbeam {
namespace {

Sample sample_of(const std::string& task, int question, const std::string& method, int k,
                 bool correct, std::int64_t tokens, double score = 0) {
  Sample sample;
  sample.task = task;
  sample.id = std::to_string(question);
  sample.question = question;
  sample.method = method;
  sample.sample = k;
  sample.extracted = "1";
  sample.correct = sample.correct_strict = correct;
  sample.generated_tokens = tokens;
  sample.score = score;
  return sample;
}

TEST(Summary, SharesMeansAndDisagreements) {
  std::vector<Sample> samples = {
      sample_of("t", 0, "a", 0, true, 100), sample_of("t", 1, "a", 0, false, 300),
      sample_of("t", 0, "b", 0, true, 50), sample_of("t", 1, "b", 0, true, 50)};
  samples[1].truncated = true;
  samples[1].extracted = "";
  samples[3].correct_strict = false;
  samples[1].error = "too long";
  const EvalSummary summary = summarise(samples);
  ASSERT_EQ(summary.tasks.size(), 1u);
  EXPECT_TRUE(summary.average.methods.empty());
  const MethodSummary& a = summary.tasks[0].methods.at(0);
  EXPECT_EQ(a.method, "a");
  EXPECT_EQ(a.questions, 2);
  EXPECT_DOUBLE_EQ(a.accuracy.mean, 0.5);
  EXPECT_DOUBLE_EQ(a.truncated, 0.5);
  EXPECT_DOUBLE_EQ(a.unparsed, 0.5);
  EXPECT_EQ(a.errors, 1);
  EXPECT_DOUBLE_EQ(a.generated_tokens, 200);
  EXPECT_DOUBLE_EQ(summary.tasks[0].methods.at(1).strict.mean, 0.5);
  ASSERT_EQ(summary.disagreements.size(), 1u);
  EXPECT_EQ(summary.disagreements[0].method, "b");
  ASSERT_EQ(summary.tasks[0].pairs.size(), 1u);
  EXPECT_DOUBLE_EQ(summary.tasks[0].pairs[0].test.difference, 0.5);
  EXPECT_TRUE(summary.tasks[0].pairs[0].test.exact);
  EXPECT_NE(to_table(summary).find("1 of 2 samples could not be run"), std::string::npos);
  EXPECT_THROW(summarise({}), Error);
}

TEST(Summary, PassAtKAndBestOfK) {
  // Question 0: one of three is correct, and it has the best score; question 1: none is correct.
  const EvalSummary summary = summarise(
      {sample_of("t", 0, "a", 0, false, 10, -2), sample_of("t", 0, "a", 1, true, 10, -1),
       sample_of("t", 0, "a", 2, false, 10, -3), sample_of("t", 1, "a", 0, false, 10, -1),
       sample_of("t", 1, "a", 1, false, 10, -1), sample_of("t", 1, "a", 2, false, 10, -1)});
  const MethodSummary& a = summary.tasks[0].methods[0];
  ASSERT_EQ(a.pass_at.size(), 3u);
  EXPECT_NEAR(a.pass_at[0].mean, 1.0 / 6, 1e-12);
  EXPECT_NEAR(a.pass_at[1].mean, 2.0 / 6, 1e-12);
  EXPECT_NEAR(a.pass_at[2].mean, 0.5, 1e-12);
  ASSERT_EQ(a.best_of.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(a.best_of[k], a.pass_at[k].mean, 1e-12);
}

TEST(Summary, TheAverageWeighsTasksEqually) {
  std::vector<Sample> samples;
  for (int i = 0; i < 8; ++i) samples.push_back(sample_of("large", i, "a", 0, true, 1));
  samples.push_back(sample_of("small", 0, "a", 0, false, 1));
  samples.push_back(sample_of("small", 0, "only here", 0, true, 1));
  const EvalSummary summary = summarise(samples);
  ASSERT_EQ(summary.average.methods.size(), 1u);
  EXPECT_DOUBLE_EQ(summary.average.methods[0].accuracy.mean, 0.5);
}

TEST(EqualCompute, TheOthersAreMixedToTheSameCost) {
  const auto rows = equal_compute({{"cheap", "cheap", 100, 0.2},
                                   {"mid", "mid", 200, 0.35},
                                   {"dear", "dear", 500, 0.6},
                                   {"mid, best of 2", "mid", 400, 0.9}});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_FALSE(rows[0].has_rival) << "no method is cheaper";
  EXPECT_NEAR(rows[1].rival, 0.3, 1e-12);  // a quarter of the way from cheap to expensive
  EXPECT_EQ(rows[1].cheaper, "cheap");
  EXPECT_EQ(rows[1].costlier, "dear");
  EXPECT_NEAR(rows[1].costlier_share, 0.25, 1e-12);
  EXPECT_NEAR(rows[2].rival, 0.9, 1e-12);  // a single method, cheaper and better
  EXPECT_EQ(rows[2].cheaper, "mid, best of 2");
  EXPECT_EQ(rows[2].costlier, "");
}

TEST(Summary, JsonHoldsEqualCompute) {
  const Json json =
      to_json(summarise({sample_of("t", 0, "a", 0, true, 10), sample_of("t", 0, "b", 0, false, 20),
                         sample_of("t", 0, "c", 0, true, 40)}));
  const Json& rows = json["tasks"][0]["equal_compute"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_FALSE(rows[0].contains("others"));
  EXPECT_EQ(rows[1]["others"], 1.0);
  ASSERT_EQ(rows[1]["mix"].size(), 1u);
  EXPECT_EQ(rows[1]["mix"][0]["method"], "a");
  EXPECT_EQ(rows[1]["mix"][0]["share"], 1.0);
}

TEST(BestOfK, EqualsTheAverageOverAllSubsets) {
  const std::vector<std::vector<ScoredSample>> questions = {
      {{0.3, false}, {0.9, true}, {0.5, false}, {0.9, false}, {0.1, true}}};
  for (int k = 1; k <= 5; ++k) {
    int subsets = 0, right = 0;
    for (unsigned mask = 0; mask < 32; ++mask) {
      if (__builtin_popcount(mask) != k) continue;
      const ScoredSample* best = nullptr;
      for (std::size_t i = 0; i < 5; ++i)
        if (mask >> i & 1 && (!best || questions[0][i].score > best->score))
          best = &questions[0][i];
      ++subsets;
      right += best->correct;
    }
    EXPECT_NEAR(*best_of_k(questions, k), static_cast<double>(right) / subsets, 1e-12) << k;
  }
  EXPECT_FALSE(best_of_k(questions, 6).has_value());
}

TEST(Summary, EveryFigureOfTheAverageWeighsTasksEqually) {
  // Method a is right on 10 questions of a small task and wrong on 90 of a large one, b the other
  // way round: both average .500 and there is no difference between them.
  std::vector<Sample> samples;
  const auto add = [&](const char* task, int count, const char* method, bool correct, int tokens) {
    for (int i = 0; i < count; ++i) {
      Sample sample;
      sample.task = task;
      sample.id = std::to_string(i);
      sample.method = method;
      sample.correct = sample.correct_strict = correct;
      sample.generated_tokens = tokens;
      samples.push_back(sample);
    }
  };
  add("small", 10, "a", true, 100);
  add("small", 10, "b", false, 100);
  add("large", 90, "a", false, 300);
  add("large", 90, "b", true, 300);
  const EvalSummary summary = summarise(samples);
  ASSERT_EQ(summary.average.methods.size(), 2u);
  for (const MethodSummary& method : summary.average.methods) {
    EXPECT_DOUBLE_EQ(method.accuracy.mean, 0.5);
    EXPECT_DOUBLE_EQ(method.pass_at[0].mean, 0.5);
    EXPECT_DOUBLE_EQ(method.best_of[0], 0.5);
    EXPECT_DOUBLE_EQ(method.generated_tokens, 200);
    EXPECT_EQ(method.samples, 100);
  }
  ASSERT_EQ(summary.average.pairs.size(), 1u);
  EXPECT_NEAR(summary.average.pairs[0].test.difference, 0, 1e-12);
  EXPECT_GT(summary.average.pairs[0].test.p_value, 0.9);
}

}  // namespace
}  // namespace counterbeam
