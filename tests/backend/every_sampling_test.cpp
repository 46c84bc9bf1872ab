// Every sampling option on the back ends that run on the host, and min-p against its definition.
#include "every_sampling.h"

#include <map>

namespace counterbeam {
namespace {

TEST(EverySampling, OnTheReference) {
  expect_every_draw(make_reference_ops);
}

class EverySamplingOnCpu : public CpuPaths {};
INSTANTIATE_TEST_SUITE_P(Paths, EverySamplingOnCpu, ::testing::ValuesIn(all_paths()), path_name);

TEST_P(EverySamplingOnCpu, DrawsLikeThePlainCode) {
  expect_every_draw([&] { return fast(); });
}

// Random rows with and without ties, random options.
TEST(EverySampling, KeepsWhatTheDefinitionKeeps) {
  std::uint32_t position = 0;
  const auto next = [&] { return uniform({.seed = 47, .position = ++position}); };
  int close = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<float> logits(1 + std::size_t(60 * next()));
    const double spread = 0.1 + 8 * next(), grid = trial % 3 == 0 ? 1.0 : 0.0;
    for (float& logit : logits) {
      const double x = spread * (2 * next() - 1);
      logit = static_cast<float>(grid > 0 ? std::round(x) : x);
    }
    HeadJob job;
    auto& [temperature, top_p, top_k, min_p] = job.sampling;
    temperature = static_cast<float>(0.05 + 2 * next());
    if (next() < 0.5) top_p = static_cast<float>(0.01 + 0.98 * next());
    if (next() < 0.5) top_k = 1 + static_cast<int>(70 * next());
    if (next() < 0.8) min_p = static_cast<float>(next() < 0.1 ? 1.0 : std::pow(next(), 3));
    if (next() < 0.3) job.vocab_limit = 1 + static_cast<int>(60 * next());
    const JobLogits rows{logits, {}};
    const NaiveDraw naive = naive_draw(naive_scores(job, rows), job.sampling);
    if (naive.margin < 1e-9) {
      ++close;
      continue;
    }
    const std::vector<double> logprobs = draw_distribution(job, rows);
    std::vector<TokenId> kept;
    for (std::size_t i = 0; i < logprobs.size(); ++i) {
      if (std::isfinite(logprobs[i])) kept.push_back(static_cast<TokenId>(i));
    }
    ASSERT_EQ(kept, naive.kept) << describe(job, logits.size());
    for (std::size_t i = 0; i < kept.size(); ++i)
      ASSERT_NEAR(std::exp(logprobs[kept[i]]), naive.probabilities[i], 1e-12);
  }
  EXPECT_LT(close, kTrials / 10);  // top-p of equal tokens, exactly at a token
}

std::map<TokenId, int> draws(const std::vector<float>& logits, Sampling sampling, int count) {
  std::map<TokenId, int> seen;
  for (int i = 0; i < count; ++i) {
    HeadJob job;
    job.sampling = sampling;
    job.key = {.seed = 3, .position = static_cast<std::uint32_t>(i)};
    ++seen[run_head_job(job, {logits, {}}, -1).token];
  }
  return seen;
}

TEST(MinP, IsRelativeToTheLikeliestTokenAfterTemperature) {
  const std::vector<float> logits = {std::log(0.5f), std::log(0.3f), std::log(0.15f),
                                     std::log(0.05f)};
  EXPECT_EQ(draws(logits, {.min_p = 0.7f}, 500).size(), 1u);
  EXPECT_EQ(draws(logits, {.min_p = 0.5f}, 500).size(), 2u);
  EXPECT_EQ(draws(logits, {.min_p = 0.2f}, 500).size(), 3u);
  EXPECT_EQ(draws(logits, {.min_p = 0.0f}, 500).size(), 4u);
  // At temperature 2 the ratios are the square roots: 0.77, 0.55, 0.32.
  EXPECT_EQ(draws(logits, {.temperature = 2.0f, .min_p = 0.7f}, 500).size(), 2u);
  EXPECT_EQ(draws(logits, {.temperature = 2.0f, .min_p = 0.5f}, 500).size(), 3u);
  const auto seen = draws(logits, {.min_p = 0.5f}, 20000);
  EXPECT_NEAR(seen.at(0) / 20000.0, 0.5 / 0.8, 0.01);
}

TEST(MinP, KeepsOrDropsTiesTogether) {
  const std::vector<float> logits = {1, 2, 2, 1, 0, 2};
  EXPECT_EQ(draws(logits, {.min_p = 1.0f}, 500).size(), 3u);
  EXPECT_EQ(draws(logits, {.min_p = 0.3f}, 2000).size(), 5u);
  // Then the lowest ids come first.
  EXPECT_TRUE(draws(logits, {.top_k = 4, .min_p = 0.3f}, 2000).contains(0));
  EXPECT_FALSE(draws(logits, {.top_k = 4, .min_p = 0.3f}, 2000).contains(3));
}

TEST(MinP, TopPIsOfWhatMinPLeft) {
  const std::vector<float> logits = {std::log(0.4f), std::log(0.3f), std::log(0.2f),
                                     std::log(0.1f)};
  EXPECT_EQ(draws(logits, {.top_p = 0.55f}, 500).size(), 2u);
  // Of the two kept, 4/7 and 3/7: a mass of 0.55 is reached by the first alone.
  EXPECT_EQ(draws(logits, {.top_p = 0.55f, .min_p = 0.7f}, 500).size(), 1u);
}

TEST(MinP, ChangesNothingAtTemperatureZero) {
  HeadJob job;
  job.sampling = {.temperature = 0, .min_p = 1};
  const std::vector<float> logits = {0, 3, 3, 1};
  const HeadResult result = run_head_job(job, {logits, {}}, -1);
  EXPECT_EQ(result.token, 1);
  EXPECT_EQ(result.drawn_logprob, 0);
}

}  // namespace
}  // namespace counterbeam
