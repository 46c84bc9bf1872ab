// What is computed of probed questions: choices, rewards, blocks and verdicts, by hand.
#include "diagnose/diagnosis.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "diagnose/diagnosis_page.h"

namespace counterbeam {
namespace {

// An answer whose tokens all have this log-probability, and these rewards.
ProbedAnswer answer(bool correct, float base, std::vector<float> rewards) {
  ProbedAnswer result;
  result.correct = correct;
  result.ended = true;
  ContextLogprobs pair;
  for (const float reward : rewards) {
    result.tokens.push_back(static_cast<TokenId>(result.tokens.size()));
    result.base.push_back(base);
    pair.positive.push_back(base + reward / 2);
    pair.negative.push_back(base - reward / 2);
  }
  result.pairs = {pair};
  return result;
}

DiagnosisSettings settings_of(int samples, int block) {
  return {{{"mine", "good:", "bad:"}},
          {0.5},
          {.samples = samples, .block = block, .max_tokens = 8, .rollouts = 0, .siblings = 2}};
}

TokenTexts plain_texts() {
  return {[](TokenId token) { return fmt::format("<{}>", token); },
          [](std::span<const TokenId> tokens) { return fmt::format("{} tokens", tokens.size()); }};
}

TEST(Diagnosis, OfTwoQuestionsByHand) {
  std::vector<ProbedQuestion> questions(2);
  questions[0] = {"a", {answer(true, -1, {0, 2}), answer(false, -0.5, {1, -1})}, {}};
  questions[1] = {"b", {answer(false, -2, {0, 0}), answer(false, -3, {0, 0})}, {}};
  const TaskDiagnosis task = diagnose_task("t", questions, settings_of(2, 1), plain_texts());
  EXPECT_EQ(task.questions, 2);
  EXPECT_EQ(task.mixed, 1);
  EXPECT_DOUBLE_EQ(task.accuracy.mean, 0.25);
  EXPECT_DOUBLE_EQ(task.answer_tokens, 2);
  EXPECT_EQ(task.longest, 2);
  // Likelihood prefers the wrong answer, -0.5 to -1; the reward prefers the right one, 1 to 0.
  EXPECT_DOUBLE_EQ(task.likelihood.within->mean, 0);
  const PairDiagnosis& pair = task.pairs[0];
  EXPECT_DOUBLE_EQ(pair.reward.within->mean, 1);
  EXPECT_DOUBLE_EQ(pair.right_reward, 1);
  EXPECT_DOUBLE_EQ(pair.wrong_reward, 0);
  // At 0.5 the scores are -1 + 0.5 and -0.5: a tie, which the earlier answer wins.
  EXPECT_DOUBLE_EQ(pair.scores[0].separation.within->mean, 0.5);
  EXPECT_DOUBLE_EQ(pair.scores[0].over_likelihood.mean, 0.5);
  EXPECT_EQ(pair.scores[0].choice.best_of, (std::vector<double>{0.25, 0.5}));
  EXPECT_EQ(task.likelihood_choice.best_of, (std::vector<double>{0.25, 0}));
  EXPECT_DOUBLE_EQ(pair.scores[0].choice.gain.difference, 0.5);
  // After one token the wrong answer has the higher reward, after two the right one.
  ASSERT_EQ(pair.blocks.size(), 2u);
  EXPECT_DOUBLE_EQ(pair.blocks[0].reward.within->mean, 0);
  EXPECT_DOUBLE_EQ(pair.blocks[1].reward.within->mean, 1);
  EXPECT_EQ(pair.rewards.tokens, 8);
  EXPECT_DOUBLE_EQ(pair.rewards.largest, 2);
  EXPECT_DOUBLE_EQ(pair.rewards.mean.mean, 0.25);
  // KL to the positive context: the mean of -reward/2.
  EXPECT_NEAR(pair.divergence.positive.per_token.mean, -0.125, 1e-6);
  EXPECT_NEAR(pair.divergence.negative.per_token.mean, 0.125, 1e-6);
  ASSERT_EQ(pair.tokens.highest.size(), 2u);
  EXPECT_EQ(pair.tokens.highest[0].token, "<1>");
  EXPECT_EQ(pair.tokens.highest[0].before, "1 tokens");
  EXPECT_DOUBLE_EQ(pair.tokens.highest[0].reward, 2);
  EXPECT_TRUE(pair.tokens.highest[0].correct);
  ASSERT_EQ(pair.tokens.lowest.size(), 1u);
  EXPECT_DOUBLE_EQ(pair.tokens.lowest[0].reward, -1);
  EXPECT_EQ(pair.verdict.effect, PairEffect::Unclear);
}

TEST(Diagnosis, QuantilesAreInterpolated) {
  const double values[] = {0, 1, 2, 10};
  EXPECT_DOUBLE_EQ(quantile(values, 0), 0);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 1.5);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 10);
}

TEST(Diagnosis, HistogramCountsEveryToken) {
  std::vector<float> rewards;
  for (int i = 0; i < 5000; ++i) rewards.push_back(static_cast<float>(std::sin(i)));
  rewards.push_back(50);
  std::vector<ProbedQuestion> questions(1);
  questions[0] = {"a", {answer(true, -1, rewards)}, {}};
  const RewardHistogram histogram = reward_distribution(questions, 0).histogram;
  std::int64_t total = histogram.below + histogram.above;
  for (const std::int64_t count : histogram.counts) total += count;
  EXPECT_EQ(total, 5001);
  EXPECT_EQ(histogram.above, 1 + histogram.below);
  EXPECT_LT(histogram.high, 1.1) << "one extreme token does not squeeze the rest";
}

TEST(Diagnosis, BlocksThatAreShown) {
  EXPECT_EQ(shown_blocks(1), (std::vector<int>{1}));
  EXPECT_EQ(shown_blocks(5), (std::vector<int>{1, 2, 3, 4, 5}));
  for (const int blocks : {2, 17, 96, 1000, 32768}) {
    const std::vector<int> shown = shown_blocks(blocks);
    EXPECT_EQ(shown.back(), blocks);
    EXPECT_LT(shown.size(), 60u);
    for (std::size_t i = 1; i < shown.size(); ++i) EXPECT_LT(shown[i - 1], shown[i]);
  }
}

PairDiagnosis pair_with(int questions, Interval auc, Interval over_likelihood) {
  PairDiagnosis pair;
  pair.reward.questions = questions;
  pair.reward.within = auc;
  ScoreDiagnosis score;
  score.steer = 0.7;
  score.over_likelihood = over_likelihood;
  pair.scores = {score};
  return pair;
}

TEST(Verdict, TheIntervalDecides) {
  const auto effect = [](int questions, Interval auc, Interval over = {0, -0.1, 0.1}) {
    return verdict_of(pair_with(questions, auc, over)).effect;
  };
  EXPECT_EQ(effect(40, {0.81, 0.77, 0.85}, {0.2, 0.1, 0.3}), PairEffect::Helps);
  EXPECT_EQ(effect(40, {0.81, 0.77, 0.85}), PairEffect::Separates);
  EXPECT_EQ(effect(40, {0.81, 0.49, 0.95}, {0.2, 0.1, 0.3}), PairEffect::Unclear);
  EXPECT_EQ(effect(40, {0.51, 0.46, 0.56}), PairEffect::NoEvidence);
  EXPECT_EQ(effect(40, {0.30, 0.20, 0.41}, {-0.2, -0.3, -0.1}), PairEffect::Harms);
  EXPECT_EQ(effect(40, {0.30, 0.20, 0.41}), PairEffect::Opposes);
  EXPECT_EQ(effect(9, {0.95, 0.90, 0.99}, {0.2, 0.1, 0.3}), PairEffect::Unclear);
  EXPECT_EQ(verdict_of(pair_with(40, {0.51, 0.46, 0.56}, {})).sentence,
            "no evidence that this pair helps (AUC 0.51, 0.46 to 0.56)");
  EXPECT_EQ(verdict_of(pair_with(7, {0.9, 0.8, 1}, {})).sentence,
            "too few questions with both right and wrong answers (7) to tell; raise --limit or "
            "--samples");
  EXPECT_EQ(verdict_of(PairDiagnosis()).effect, PairEffect::Unclear) << "nothing was compared";
}

TEST(Diagnosis, TextsOfIntervals) {
  EXPECT_EQ(interval_text(Interval{0.5, 0.25, 0.75}, 2), "0.50 (0.25 to 0.75)");
  EXPECT_EQ(interval_text(Interval{0.5, -INFINITY, INFINITY}, 2), "0.50");
  EXPECT_EQ(interval_text(Interval{-0.001, -0.02, 0.001}, 2), "0.00 (-0.02 to 0.00)");
  EXPECT_EQ(interval_text(std::optional<Interval>()), "-");
  EXPECT_EQ(fine_interval_text({0.00123, 0.00113, 0.00133}), "0.00123 (0.00113 to 0.00133)");
}

TEST(Diagnosis, OneQuestionAndOnlyWrongAnswersAreShownToo) {
  std::vector<ProbedQuestion> questions(1);
  questions[0] = {"</script>", {answer(false, -1, {0, 0}), answer(false, -1, {0, 0})}, {}};
  const TaskDiagnosis task = diagnose_task("t", questions, settings_of(2, 32), plain_texts());
  const Json json = to_json(task);
  EXPECT_TRUE(json["pairs"][0]["auc"]["within"].is_null());
  EXPECT_TRUE(json["pairs"][0]["reward"]["mean"]["low"].is_null());
  EXPECT_TRUE(json["pairs"][0]["reward_right"].is_null());
  EXPECT_EQ(json["pairs"][0]["verdict"], "unclear");
  EXPECT_NE(to_table(task).find("too few questions"), std::string::npos);
  const std::string page = diagnosis_page({&task, 1}, Json::object());
  EXPECT_EQ(page.find("/*DATA*/"), std::string::npos);
  EXPECT_NE(page.find("too few questions"), std::string::npos);
}

}  // namespace
}  // namespace counterbeam
