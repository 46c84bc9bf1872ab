// Tests the head: log-probabilities, filters, ties, keyed draws.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "backend/draw.h"

namespace counterbeam {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

HeadResult draw(const std::vector<float>& logits, Sampling sampling, std::uint32_t position = 0,
                int vocab_limit = 0) {
  HeadJob job;
  job.sampling = sampling;
  job.key = {.seed = 3, .position = position};
  job.vocab_limit = vocab_limit;
  return run_head_job(job, {logits, {}}, -1);
}

// How often each token occurs in `count` draws.
std::map<TokenId, int> draws(const std::vector<float>& logits, Sampling sampling, int count) {
  std::map<TokenId, int> seen;
  for (int i = 0; i < count; ++i) ++seen[draw(logits, sampling, static_cast<unsigned>(i)).token];
  return seen;
}

TEST(Head, ScoresAGivenToken) {
  HeadJob job;
  job.given = 2;
  const std::vector<float> logits = {0, 1, 2, 3};
  const HeadResult result = run_head_job(job, {logits, {}}, -1);
  EXPECT_NEAR(result.logprob, 2 - std::log(1 + std::exp(1) + std::exp(2) + std::exp(3)), 1e-6);
  EXPECT_EQ(result.token, 2);
}

TEST(Head, LargeLogitsDoNotOverflow) {
  HeadJob job;
  job.given = 1;
  const std::vector<float> logits = {3e38f, -3e38f, 0};
  const HeadResult result = run_head_job(job, {logits, {}}, -1);
  EXPECT_TRUE(result.finite);
  EXPECT_TRUE(std::isinf(result.logprob) || result.logprob < -1e38f);
}

TEST(Head, TemperatureZeroTakesTheMostLikelyTokenWithTheLowestId) {
  EXPECT_EQ(draw({1, 5, 5, 0}, {.temperature = 0}).token, 1);
  EXPECT_EQ(draw({1, 5, 5, 7}, {.temperature = 0}, 0, 3).token, 1);
  EXPECT_FLOAT_EQ(draw({0, 0}, {.temperature = 0}).logprob, std::log(0.5f));
  EXPECT_EQ(draw({0, 0}, {.temperature = 0}).drawn_logprob, 0.0f);
}

TEST(Head, DrawsFollowTheDistribution) {
  const std::vector<float> logits = {std::log(0.1f), std::log(0.6f), std::log(0.3f)};
  const auto seen = draws(logits, {}, 20000);
  EXPECT_NEAR(seen.at(0) / 20000.0, 0.1, 0.01);
  EXPECT_NEAR(seen.at(1) / 20000.0, 0.6, 0.015);
  EXPECT_NEAR(seen.at(2) / 20000.0, 0.3, 0.015);
}

TEST(Head, TemperatureSharpens) {
  const std::vector<float> logits = {0, 1};
  const auto seen = draws(logits, {.temperature = 0.5f}, 20000);
  EXPECT_NEAR(seen.at(1) / 20000.0, 1 / (1 + std::exp(-2)), 0.01);
  const HeadResult result = draw(logits, {.temperature = 0.5f});
  const double p = result.token == 1 ? 1 / (1 + std::exp(-2.0)) : 1 / (1 + std::exp(2.0));
  EXPECT_NEAR(result.drawn_logprob, std::log(p), 1e-6);
}

TEST(Head, TopKKeepsExactlyKAndTheLowestIdsOnTies) {
  const auto seen = draws({2, 3, 3, 3, 1}, {.top_k = 2}, 2000);
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_TRUE(seen.contains(1) && seen.contains(2));
}

TEST(Head, TopPKeepsTheSmallestSetThatReachesTheMass) {
  const std::vector<float> logits = {std::log(0.5f), std::log(0.25f), std::log(0.15f),
                                     std::log(0.1f)};
  EXPECT_EQ(draws(logits, {.top_p = 0.4f}, 500).size(), 1u);
  EXPECT_EQ(draws(logits, {.top_p = 0.7f}, 2000).size(), 2u);
  EXPECT_EQ(draws(logits, {.top_p = 0.8f}, 2000).size(), 3u);
  EXPECT_EQ(draws(logits, {.top_p = 1.0f}, 2000).size(), 4u);
  EXPECT_EQ(draws(logits, {.top_p = 1e-6f}, 100).size(), 1u);
  // Ties are broken by the lowest ids.
  const auto equal = draws({0, 0, 0, 0}, {.top_p = 0.5f}, 1000);
  EXPECT_EQ(equal.size(), 2u);
  EXPECT_TRUE(equal.contains(0) && equal.contains(1));
}

TEST(Head, TopPAppliesAfterTopK) {
  const std::vector<float> logits = {std::log(0.4f), std::log(0.3f), std::log(0.2f),
                                     std::log(0.1f)};
  // The two that are kept have 4/7 and 3/7, so the first alone reaches a mass of 0.55.
  EXPECT_EQ(draws(logits, {.top_p = 0.55f, .top_k = 2}, 500).size(), 1u);
}

TEST(Head, TopPCanKeepManyTokens) {
  const std::vector<float> flat(5000, 0.0f);
  for (unsigned i = 0; i < 200; ++i) EXPECT_LT(draw(flat, {.top_p = 0.5f}, i).token, 2500);
}

TEST(Head, NaNAndInfinityAreReported) {
  EXPECT_FALSE(draw({0, NAN}, {}).finite);
  EXPECT_FALSE(draw({0, kInf}, {}).finite);
  EXPECT_FALSE(draw({-kInf, 0}, {}).finite);
  EXPECT_TRUE(draw({-1e30f, 0}, {}).finite);
}

TEST(Head, MixturesAddLogProbabilities) {
  const std::vector<float> own = {0, 1, 2}, other = {2, 1, 0};
  const std::vector<std::span<const float>> rows = {own, other};
  const std::vector<std::pair<int, float>> weights = {{0, 1.0f}, {1, 2.0f}};
  HeadJob job;
  job.mix = weights;
  job.sampling.temperature = 0;
  // 1 * own + 2 * other = 4, 3, 2 up to constants.
  EXPECT_EQ(run_head_job(job, {own, rows}, -1).token, 0);
  job.plausibility = 0.3f;  // e^-1 = 0.37 of the maximum passes, e^-2 does not
  EXPECT_EQ(run_head_job(job, {own, rows}, -1).token, 1);
}

}  // namespace
}  // namespace counterbeam
