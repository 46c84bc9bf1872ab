// The probe on toy models, where KL, mean reward and the future correction are known exactly.
#include "diagnose/probe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "diagnose/future_correction.h"
#include "diagnose/rewards.h"
#include "theory/exact.h"
#include "theory/toy_engine.h"

namespace counterbeam {
namespace {

// Expectations under the base model, by enumeration, per answer of `horizon` tokens.
struct Exact {
  double positive = 0, negative = 0;  // KL of whole answers
};

Exact exact_divergence(const ToyModel& model) {
  Exact exact;
  model.each_sequence(model.horizon(), [&](std::span<const TokenId> answer) {
    double base = 0, positive = 0, negative = 0;
    for (std::size_t t = 0; t < answer.size(); ++t) {
      const auto prefix = answer.first(t);
      const auto token = static_cast<std::size_t>(answer[t]);
      base += std::log(model.probabilities(ToyContext::Base, prefix)[token]);
      positive += std::log(model.probabilities(ToyContext::Positive, prefix)[token]);
      negative += std::log(model.probabilities(ToyContext::Negative, prefix)[token]);
    }
    exact.positive += std::exp(base) * (base - positive);
    exact.negative += std::exp(base) * (base - negative);
  });
  return exact;
}

std::vector<ProbedQuestion> probe_toy(ToyEngine& engine, const ProbeSettings& settings, int count,
                                      bool futures) {
  const Prompts base = engine.prompts(false);
  const std::vector<Prompts> pairs = {engine.prompts(true)};
  std::vector<ProbedQuestion> questions;
  for (int q = 0; q < count; ++q)
    questions.push_back(probe_question({engine, base, 5, static_cast<std::uint32_t>(q), nullptr},
                                       pairs, settings, futures));
  return questions;
}

TEST(Probe, DivergenceAndRewardAreThoseOfTheToyModel) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const ToyModel model = ToyModel::random(4, 5, seed, 0.8);
    ToyEngine engine(model, {});
    const auto questions =
        probe_toy(engine, {.samples = 50, .block = 2, .max_tokens = 5}, 60, false);
    const Exact exact = exact_divergence(model);
    const DivergencePair kl = divergences(questions, 0);
    const auto close = [](const Interval& estimate, double truth) {
      const double error = (estimate.high - estimate.low) / 4;  // a standard error
      EXPECT_NEAR(estimate.mean, truth, 3.5 * error);
      EXPECT_LT(error, 0.05);
    };
    close(kl.positive.per_answer, exact.positive);
    close(kl.negative.per_answer, exact.negative);
    close(kl.positive.per_token, exact.positive / 5);
    const RewardDistribution rewards = reward_distribution(questions, 0);
    EXPECT_EQ(rewards.tokens, 60 * 50 * 5);
    close(rewards.mean, (exact.negative - exact.positive) / 5);
    const ExactTheory theory(model, 1);
    EXPECT_LE(rewards.largest, theory.largest_reward() + 1e-5);
    EXPECT_GE(rewards.largest, rewards.usual);
    EXPECT_LE(rewards.quantiles.front(), rewards.quantiles.back());
  }
}

TEST(Probe, RolloutsEstimateTheFutureCorrection) {
  for (const std::uint64_t seed : {4, 5}) {
    const ToyModel model = ToyModel::random(3, 5, seed, 1.0);
    ToyEngine engine(model, {});
    const ProbeSettings settings{
        .samples = 8, .block = 2, .max_tokens = 5, .rollouts = 400, .siblings = 4};
    const auto questions = probe_toy(engine, settings, 5, true);
    int checked = 0, beyond = 0;
    for (const double steer : {0.25, 0.7}) {
      const ExactTheory theory(model, steer);
      for (const ProbedQuestion& question : questions)
        for (const ScoringPoint& point : question.points) {
          EXPECT_EQ(point.tokens, 2);
          for (const ProbedFuture& sibling : point.siblings) {
            ASSERT_EQ(sibling.rewards[0].size(), 400u);
            for (const int tokens : sibling.tokens) EXPECT_EQ(tokens, 3);
            const std::span<const TokenId> answer = question.answers[sibling.answer].tokens;
            const double exact = std::log(theory.zeta(answer.first(2)));
            const LogZeta estimate = log_zeta(sibling.rewards[0], steer);
            EXPECT_NEAR(estimate.value, exact, 5 * estimate.error);
            beyond += std::abs(estimate.value - exact) > 2 * estimate.error;
            ++checked;
          }
        }
    }
    EXPECT_GE(checked, 20);
    EXPECT_LE(beyond, checked / 5);
  }
}

TEST(Probe, DistanceAmongAllBeginningsIsTheExactOne) {
  // With every beginning among the siblings and many rollouts, the distance of the summary is the
  // total variation between the exact and the truncated distribution of the first block.
  const ToyModel model = ToyModel::random(3, 4, 9, 1.2);
  ToyEngine engine(model, {});
  const ProbeSettings settings{
      .samples = 4000, .block = 1, .max_tokens = 4, .rollouts = 3000, .siblings = 3};
  const auto questions = probe_toy(engine, settings, 1, true);
  ASSERT_EQ(questions[0].points.front().siblings.size(), 3u);
  const ExactTheory theory(model, 0.7);
  const RewardDistribution rewards = reward_distribution(questions, 0);
  const double steers[] = {0.7};
  const auto futures =
      summarise_futures(questions, 0, steers, {1, 4, theory.largest_reward(), rewards.usual});
  ASSERT_EQ(futures.front().place, ScoringPlace::FirstBlock);
  const FutureAtSteer& at = futures.front().steers[0];
  EXPECT_NEAR(at.distance->mean, theory.worst_step(0, 1), 0.02);
  EXPECT_LE(theory.worst_step(0, 1), at.bound);
  EXPECT_LE(at.usual_bound, at.bound);
  EXPECT_GE(at.trajectory_bound, at.bound);
  EXPECT_GT(at.effective_rollouts, 100);
}

TEST(Probe, AnswersAreTheSameForEveryPairAndEveryRun) {
  const ToyModel model = ToyModel::random(4, 6, 2, 1.0);
  ToyEngine engine(model, {0});
  const Prompts base = engine.prompts(false), pair = engine.prompts(true);
  Prompts swapped = pair;
  std::swap(swapped.positive, swapped.negative);
  const std::vector<Prompts> pairs = {pair, swapped};
  const ProbeSettings settings{
      .samples = 12, .block = 2, .max_tokens = 6, .rollouts = 4, .siblings = 3};
  const Task task = {engine, base, 1, 3, nullptr};
  const ProbedQuestion first = probe_question(task, pairs, settings, true);
  const ProbedQuestion alone = probe_question(task, {&pair, 1}, settings, true);
  ASSERT_EQ(first.answers.size(), 12u);
  for (std::size_t i = 0; i < first.answers.size(); ++i) {
    const ProbedAnswer& answer = first.answers[i];
    EXPECT_EQ(answer.tokens, alone.answers[i].tokens);
    EXPECT_EQ(answer.pairs[0].positive, alone.answers[i].pairs[0].positive);
    EXPECT_EQ(answer.pairs[0].positive, answer.pairs[1].negative);
    EXPECT_EQ(answer.base.size(), answer.tokens.size());
    EXPECT_EQ(answer.ended, answer.tokens.back() == 0);
  }
  ASSERT_EQ(first.points.size(), alone.points.size());
  for (std::size_t p = 0; p < first.points.size(); ++p) {
    const auto& siblings = first.points[p].siblings;
    ASSERT_EQ(siblings.size(), alone.points[p].siblings.size());
    for (std::size_t i = 0; i < siblings.size(); ++i) {
      EXPECT_EQ(siblings[i].rewards[0], alone.points[p].siblings[i].rewards[0]);
      for (std::size_t m = 0; m < 4; ++m)
        EXPECT_NEAR(siblings[i].rewards[0][m], -siblings[i].rewards[1][m], 1e-6);
      for (std::size_t j = 0; j < i; ++j) {  // no two siblings begin alike
        const auto length = static_cast<std::size_t>(first.points[p].tokens);
        const std::span<const TokenId> a = first.answers[siblings[i].answer].tokens;
        const std::span<const TokenId> b = first.answers[siblings[j].answer].tokens;
        EXPECT_FALSE(std::ranges::equal(a.first(length), b.first(length)));
      }
    }
  }
}

TEST(LogZeta, ByHand) {
  const double equal[] = {2, 2, 2};
  EXPECT_NEAR(log_zeta(equal, 0.5).value, 1, 1e-12);
  EXPECT_NEAR(log_zeta(equal, 0.5).error, 0, 1e-12);
  EXPECT_NEAR(effective_rollouts(equal, 0.5), 3, 1e-12);
  // Jackknife of log((1 + e)/2): leaving one out gives 1 and 0.
  const double two[] = {0, 1};
  EXPECT_NEAR(log_zeta(two, 1).value, 2 * std::log((1 + std::exp(1)) / 2) - 0.5, 1e-12);
  EXPECT_NEAR(log_zeta(two, 1).error, 0.5, 1e-12);
  const double far[] = {0, 2000};  // no overflow
  EXPECT_NEAR(effective_rollouts(far, 1), 1, 1e-12);
  EXPECT_TRUE(std::isfinite(log_zeta(far, 1).value));
}

}  // namespace
}  // namespace counterbeam
