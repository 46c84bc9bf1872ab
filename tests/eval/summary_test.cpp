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
  const EvalSummary summary = summarise(samples);
  ASSERT_EQ(summary.tasks.size(), 1u);
  EXPECT_TRUE(summary.average.methods.empty());
  const MethodSummary& a = summary.tasks[0].methods.at(0);
  EXPECT_EQ(a.method, "a");
  EXPECT_EQ(a.questions, 2);
  EXPECT_DOUBLE_EQ(a.accuracy.mean, 0.5);
  EXPECT_DOUBLE_EQ(a.truncated, 0.5);
  EXPECT_DOUBLE_EQ(a.unparsed, 0.5);
  EXPECT_EQ(a.errors, 0);
  EXPECT_DOUBLE_EQ(a.generated_tokens, 200);
  EXPECT_DOUBLE_EQ(summary.tasks[0].methods.at(1).strict.mean, 0.5);
  ASSERT_EQ(summary.disagreements.size(), 1u);
  EXPECT_EQ(summary.disagreements[0].method, "b");
  ASSERT_EQ(summary.tasks[0].pairs.size(), 1u);
  EXPECT_DOUBLE_EQ(summary.tasks[0].pairs[0].test.difference, 0.5);
  EXPECT_TRUE(summary.tasks[0].pairs[0].test.exact);
  EXPECT_THROW(summarise({}), Error);
}

// A fault never becomes a number: failed samples are counted and left out of everything else.
TEST(Summary, FailedSamplesAreNotGraded) {
  std::vector<Sample> samples;
  for (int question = 0; question < 4; ++question)
    for (const char* method : {"a", "b", "c"})
      samples.push_back(sample_of("t", question, method, 0, true, 100));
  const auto fail = [&](std::size_t i, const std::string& cause) {
    samples[i].error = cause;
    samples[i].correct = samples[i].correct_strict = false;
    samples[i].generated_tokens = 0;
  };
  fail(3, "the prompt has 9001 tokens");  // question 1, method a
  fail(6, "the prompt has 10234 tokens");
  fail(9, "the sandbox cannot start");
  for (std::size_t i = 2; i < samples.size(); i += 3) fail(i, "the sandbox cannot start");
  const EvalSummary summary = summarise(samples);
  ASSERT_EQ(summary.tasks[0].methods.size(), 2u) << "nothing of c was graded";
  const MethodSummary& a = summary.tasks[0].methods[0];
  EXPECT_EQ(a.questions, 1);
  EXPECT_EQ(a.samples, 1);
  EXPECT_EQ(a.errors, 3);
  EXPECT_DOUBLE_EQ(a.accuracy.mean, 1);
  EXPECT_DOUBLE_EQ(a.generated_tokens, 100);
  EXPECT_EQ(summary.tasks[0].pairs.at(0).questions, 1);
  EXPECT_DOUBLE_EQ(summary.tasks[0].pairs[0].test.difference, 0);
  ASSERT_EQ(summary.failures.size(), 3u);
  EXPECT_EQ(summary.failures[0].method, "c");
  EXPECT_EQ(summary.failures[0].samples, 4);
  EXPECT_EQ(summary.failures[1].cause, "the prompt has 9001 tokens");
  EXPECT_EQ(summary.failures[1].samples, 2) << "causes are the same but for their numbers";
  EXPECT_EQ(summary.failures[1].id, "1");
  const Json json = to_json(summary);
  EXPECT_EQ(json["failures"].size(), 3u);
  EXPECT_EQ(json["failures"][2]["cause"], "the sandbox cannot start");
  EXPECT_NE(to_table(summary).find("t, a: 2 samples failed and are not graded: the prompt has 9001 "
                                   "tokens (problem 1)"),
            std::string::npos)
      << to_table(summary);
}

TEST(Summary, ARunOfFailuresAloneHasNoAccuracy) {
  std::vector<Sample> samples = {sample_of("t", 0, "a", 0, false, 0)};
  samples[0].error = "no template";
  const EvalSummary summary = summarise(samples);
  EXPECT_TRUE(summary.tasks.empty());
  EXPECT_EQ(summary.failures.size(), 1u);
  EXPECT_EQ(to_table(summary).find("0.000"), std::string::npos);
}

// Methods that have different questions, as after failures, are compared on those that both have.
TEST(Summary, TheAverageComparesWhatBothHave) {
  std::vector<Sample> samples;
  for (int question = 0; question < 6; ++question)
    for (const char* task : {"t", "u"})
      for (const char* method : {"a", "b"}) {
        samples.push_back(sample_of(task, question, method, 0, method[0] == 'b', 1));
        if (task[0] == 'u' && method[0] == 'a' && question > 1) samples.back().error = "failed";
      }
  const EvalSummary summary = summarise(samples);
  EXPECT_EQ(summary.average.pairs.at(0).questions, 8);
  EXPECT_DOUBLE_EQ(summary.average.pairs[0].test.difference, 1);
}

TEST(Summary, SecondsAreShownIfTheyWereMeasuredAlone) {
  std::vector<Sample> samples = {sample_of("t", 0, "a", 0, true, 100),
                                 sample_of("t", 1, "a", 0, true, 100)};
  for (Sample& sample : samples) {
    sample.seconds = 2;
    sample.alone = true;
  }
  const EvalSummary measured = summarise(samples);
  EXPECT_EQ(measured.tasks[0].methods[0].seconds, 2);
  EXPECT_EQ(to_json(measured)["tasks"][0]["methods"][0]["seconds"], 2);
  EXPECT_NE(to_table(measured).find(" s/answer"), std::string::npos);
  samples[1].alone = false;
  const EvalSummary shared = summarise(samples);
  EXPECT_FALSE(shared.tasks[0].methods[0].seconds);
  EXPECT_FALSE(to_json(shared)["tasks"][0]["methods"][0].contains("seconds"));
  EXPECT_EQ(to_table(shared).find(" s/answer"), std::string::npos);
  EXPECT_NE(to_table(shared).find("tokens/answer"), std::string::npos);
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
