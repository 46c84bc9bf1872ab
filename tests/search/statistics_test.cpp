// Tests that the methods draw from the distributions that they claim, on toy models small enough to
// enumerate.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "grade/vote.h"
#include "search/method_strings.h"
#include "search/power.h"
#include "support/toy_prompts.h"
#include "theory/exact.h"
#include "theory/power_toy.h"
#include "theory/toy_engine.h"

namespace counterbeam {
namespace {

std::vector<double> frequencies(ToyEngine& engine, const ToyModel& model, const Settings& settings,
                                int draws) {
  const Prompts prompts = testing::toy_prompts(engine, settings);
  std::vector<double> counts(static_cast<std::size_t>(std::pow(model.vocab(), model.horizon())));
  for (int i = 0; i < draws; ++i) {
    const auto result =
        run_search({engine, prompts, 42, static_cast<std::uint32_t>(i), nullptr}, settings);
    counts[model.index(result.answer().tokens)] += 1.0 / draws;
  }
  return counts;
}

double chi_square(const std::vector<double>& observed, const std::vector<double>& expected,
                  int draws) {
  double sum = 0;
  for (std::size_t i = 0; i < observed.size(); ++i)
    sum += draws * std::pow(observed[i] - expected[i], 2) / expected[i];
  return sum;
}

// The upper 0.1 % quantile of chi-square, by the Wilson-Hilferty approximation.
double chi_square_limit(std::size_t freedom) {
  const double k = static_cast<double>(freedom);
  return k * std::pow(1 - 2 / (9 * k) + 3.09 * std::sqrt(2 / (9 * k)), 3);
}

TEST(Statistics, SampleDrawsFromTheModel) {
  const ToyModel model = ToyModel::random(3, 3, 7, 1.0);
  ToyEngine engine(model, {});
  constexpr int kDraws = 100000;
  const auto seen = frequencies(engine, model, parse_method("sample:block=2"), kDraws);
  const auto expected = ExactTheory(model, 0).target();  // without steering: the model itself
  EXPECT_LT(chi_square(seen, expected, kDraws), chi_square_limit(expected.size() - 1));
}

TEST(Statistics, LowTemperatureSharpensEveryStep) {
  const ToyModel model = plan_or_guess();
  ToyEngine engine(model, {});
  const auto seen = frequencies(engine, model, parse_method("low-temperature"), 20000);
  EXPECT_NEAR(seen[0] + seen[1], 0.164948, 0.01);
}

TEST(Statistics, TokenContrastDrawsFromTheNaivePolicy) {
  const ToyModel model = ToyModel::random(3, 3, 8, 1.0);
  ToyEngine engine(model, {});
  constexpr int kDraws = 100000;
  const auto seen =
      frequencies(engine, model, parse_method("token-contrast:steer=0.7:block=2"), kDraws);
  const auto expected = ExactTheory(model, 0.7).truncated(1);
  EXPECT_LT(chi_square(seen, expected, kDraws), chi_square_limit(expected.size() - 1));
  // The two differ enough that draws from the model would fail the test.
  EXPECT_GT(chi_square(ExactTheory(model, 0).target(), expected, kDraws),
            chi_square_limit(expected.size() - 1));
}

TEST(Statistics, PlausibilityCutsUnlikelyTokens) {
  const ToyModel model = plan_or_guess();
  ToyEngine engine(model, {});
  const auto seen =
      frequencies(engine, model, parse_method("token-contrast:plausibility=0.5:steer=0"), 5000);
  EXPECT_EQ(seen[1], 0);  // PLAN then the .05 token, below half of .95
  EXPECT_GT(seen[3], 0);  // GUESS then .45, above half of .55
}

TEST(Statistics, GuidanceAndContextAwareMixtures) {
  const ToyModel model = ToyModel::random(4, 1, 9, 1.0);
  ToyEngine engine(model, {});
  const auto p = model.probabilities(ToyContext::Base, {});
  const auto plus = model.probabilities(ToyContext::Positive, {});
  const auto minus = model.probabilities(ToyContext::Negative, {});
  const auto check = [&](const char* method, auto weight) {
    std::vector<double> expected;
    double sum = 0;
    for (std::size_t v = 0; v < 4; ++v) expected.push_back(weight(v)), sum += expected.back();
    for (double& value : expected) value /= sum;
    const auto seen = frequencies(engine, model, parse_method(method), 20000);
    EXPECT_LT(chi_square(seen, expected, 20000), chi_square_limit(3)) << method;
  };
  check("token-contrast:policy=cfg:steer=1.5",
        [&](std::size_t v) { return std::pow(plus[v], 1.5) * std::pow(minus[v], -0.5); });
  check("token-contrast:policy=cad:steer=0.5",
        [&](std::size_t v) { return std::pow(plus[v], 1.5) * std::pow(p[v], -0.5); });
  // One-sided: the plain prompt takes the place of the other context.
  check("token-contrast:steer=0.7:contrast=positive",
        [&](std::size_t v) { return std::pow(p[v], 0.3) * std::pow(plus[v], 0.7); });
  check("token-contrast:steer=0.7:contrast=negative",
        [&](std::size_t v) { return std::pow(p[v], 1.7) * std::pow(minus[v], -0.7); });
  check("token-contrast:policy=cfg:contrast=positive",
        [&](std::size_t v) { return std::pow(plus[v], 1.5) * std::pow(p[v], -0.5); });
}

TEST(Statistics, McmcPowerApproachesPToTheAlpha) {
  const ToyModel model = ToyModel::random(3, 3, 21, 1.0);
  ToyEngine engine(model, {});
  const auto expected = power_distribution(model, 4);
  const auto far = frequencies(engine, model, parse_method("mcmc-power:steps=0:block=3"), 4000);
  const auto near = frequencies(engine, model, parse_method("mcmc-power:steps=20:block=3"), 4000);
  EXPECT_LT(total_variation(near, expected), 0.03);
  EXPECT_LT(total_variation(near, expected), total_variation(far, expected));
}

TEST(Statistics, McmcPowerIsExactWhenLengthsDiffer) {
  // Token 0 ends an answer, so proposals change the length and the distribution of positions
  // matters.
  const ToyModel model = ToyModel::random(2, 3, 22, 1.0);
  ToyEngine engine(model, {0});
  const Settings settings = parse_method("mcmc-power:steps=30:block=3:alpha=2");
  const Prompts prompts = engine.prompts(false);
  std::map<std::vector<TokenId>, double> seen, expected;
  constexpr int kDraws = 6000;
  for (std::uint32_t i = 0; i < kDraws; ++i)
    seen[run_search({engine, prompts, 3, i, nullptr}, settings).answer().tokens] += 1.0 / kDraws;
  double sum = 0;
  for (const std::vector<TokenId>& answer :
       {std::vector<TokenId>{0}, {1, 0}, {1, 1, 0}, {1, 1, 1}}) {
    double p = 1;
    for (std::size_t i = 0; i < answer.size(); ++i)
      p *= model.probabilities(ToyContext::Base,
                               std::span(answer).first(i))[static_cast<std::size_t>(answer[i])];
    sum += expected[answer] = p * p;
  }
  double distance = 0;
  for (const auto& [answer, weight] : expected)
    distance += std::abs(weight / sum - seen[answer]) / 2;
  EXPECT_LT(distance, 0.025);
  EXPECT_EQ(seen.size(), 4u);
}

TEST(Statistics, PowerApproachesPToTheAlphaAsRolloutsGrow) {
  const ToyModel model = plan_or_guess();
  ToyEngine engine(model, {});
  const auto expected = power_distribution(model, 4);
  const auto few =
      frequencies(engine, model,
                  parse_method("power:temperature=1:block=1:horizon=1:draws=16:rollouts=1"), 3000);
  const auto many =
      frequencies(engine, model,
                  parse_method("power:temperature=1:block=1:horizon=1:draws=16:rollouts=64"), 3000);
  EXPECT_LT(total_variation(many, expected), 0.04);
  EXPECT_LT(total_variation(many, expected), total_variation(few, expected));
}

TEST(Power, PublishedEstimatesFromFixedRollouts) {
  std::vector<PowerCandidate> candidates(2);
  const auto fill = [](PowerCandidate& candidate, double p, std::vector<double> rollouts) {
    candidate.log_weight = 4 * std::log(p);
    for (double rollout : rollouts) candidate.rollout_weights.push_back(3 * std::log(rollout));
  };
  fill(candidates[0], 0.4, {.95, .95, .05, .95});
  fill(candidates[1], 0.6, {.55, .45, .55, .45});
  EXPECT_NEAR(power_probabilities(candidates, false)[0], 0.496627, 5e-7);
  EXPECT_NEAR(power_probabilities(candidates, true)[0], 0.505832, 5e-7);
}

TEST(Power, JackknifeHasSmallerBias) {
  const ToyModel model = plan_or_guess();
  const double exact = power_first_token(model, 4)[0];
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(0, 1);
  double plain = 0, corrected = 0;
  constexpr int kTrials = 100000, kRollouts = 8;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<PowerCandidate> candidates(2);
    for (std::size_t c = 0; c < 2; ++c) {
      const auto next = model.probabilities(ToyContext::Base, std::vector{static_cast<TokenId>(c)});
      candidates[c].log_weight = 4 * std::log(model.probabilities(ToyContext::Base, {})[c]);
      for (int r = 0; r < kRollouts; ++r)
        candidates[c].rollout_weights.push_back(3 * std::log(next[unit(random) < next[0] ? 0 : 1]));
    }
    plain += power_probabilities(candidates, false)[0] / kTrials;
    corrected += power_probabilities(candidates, true)[0] / kTrials;
  }
  EXPECT_LT(std::abs(corrected - exact), std::abs(plain - exact) / 2);
}

TEST(BestOfN, RanksFullSamplesOnceByScore) {
  const ToyModel model = ToyModel::random(4, 6, 3, 1.0);
  ToyEngine engine(model, {0});
  const Prompts prompts = engine.prompts(true);
  const auto result =
      run_search({engine, prompts, 5, 0, nullptr}, parse_method("best-of-n:steer=0.7:block=2"));
  ASSERT_EQ(result.pool.size(), 16u);
  for (const Candidate& answer : result.pool) {
    EXPECT_NEAR(answer.score, score(answer.sums, 0.7), 1e-12);
    EXPECT_LE(answer.score, result.answer().score);
  }
  // Stored log-probabilities can be reranked at other strengths: without steering the samples are
  // the same.
  const Prompts plain = engine.prompts(false);
  const auto unsteered =
      run_search({engine, plain, 5, 0, nullptr}, parse_method("best-of-n:block=2"));
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(result.pool[i].tokens, unsteered.pool[i].tokens);
    EXPECT_NEAR(score(result.pool[i].sums, 0), unsteered.pool[i].score, 1e-12);
  }
}

TEST(SelfConsistency, MajorityWins) {
  const ToyModel model = ToyModel::random(3, 2, 5, 1.0);
  ToyEngine engine(model, {});
  const Prompts prompts = engine.prompts(false);
  SearchHooks hooks;
  hooks.vote = [](const std::vector<TokenId>& tokens) -> std::optional<std::string> {
    if (tokens[0] == 2) return std::nullopt;
    return std::to_string(tokens[0]);
  };
  const auto result = run_search({engine, prompts, 5, 0, nullptr},
                                 parse_method("self-consistency:beams=31"), hooks);
  int votes[3] = {};
  for (const Candidate& answer : result.pool) ++votes[answer.tokens[0]];
  EXPECT_EQ(result.answer().tokens[0], votes[0] > votes[1] ? 0 : 1);
  for (const Candidate& answer : result.pool)
    if (answer.tokens[0] == result.answer().tokens[0]) {
      EXPECT_LE(answer.score, result.answer().score);
    }
}

TEST(SelfConsistency, VotesByValueCountTogether) {
  // Each of 1/2, 2/4 and 0.5 may have fewer votes than 3; together they usually have more.
  const char* const kAnswers[] = {"1/2", "2/4", "0.5", "3"};
  ToyEngine engine(ToyModel::random(4, 2, 5, 0.3), {});
  const Prompts prompts = engine.prompts(false);
  SearchHooks hooks;
  hooks.vote = [&](const std::vector<TokenId>& tokens) {
    return std::optional<std::string>(kAnswers[tokens[0]]);
  };
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto choose = [&] {
      return run_search({engine, prompts, seed, 0, nullptr},
                        parse_method("self-consistency:beams=25"), hooks);
    };
    hooks.same_vote = same_math_vote;
    const auto by_value = choose();
    int votes[4] = {};
    for (const Candidate& answer : by_value.pool) ++votes[answer.tokens[0]];
    const bool halves_win = votes[0] + votes[1] + votes[2] > votes[3];
    EXPECT_EQ(by_value.answer().tokens[0] != 3, halves_win) << seed;
    hooks.same_vote = {};
    changed += halves_win && choose().answer().tokens[0] == 3;
  }
  EXPECT_GT(changed, 0) << "by their texts the halves lose at least once";
}

TEST(SelfConsistency, ManyDifferentAnswersTakeBoundedTime) {
  ToyEngine engine(ToyModel::random(3, 2, 5, 1.0), {});
  const Prompts prompts = engine.prompts(false);
  int ballots = 0, comparisons = 0;
  SearchHooks hooks;
  hooks.vote = [&](const std::vector<TokenId>&) { return std::to_string(++ballots); };
  hooks.same_vote = [&](std::string_view, std::string_view) {
    ++comparisons;
    return false;
  };
  run_search({engine, prompts, 5, 0, nullptr}, parse_method("self-consistency:beams=1000"), hooks);
  EXPECT_LE(comparisons, 2000);
}

TEST(SelfConsistency, TiesGoToTheBetterSample) {
  const ToyModel model = ToyModel::random(3, 2, 5, 1.0);
  ToyEngine engine(model, {});
  const Prompts prompts = engine.prompts(false);
  int ballots = 0;
  SearchHooks hooks;
  hooks.vote = [&](const std::vector<TokenId>&) { return std::to_string(++ballots); };
  const auto result = run_search({engine, prompts, 5, 0, nullptr},
                                 parse_method("self-consistency:beams=31"), hooks);
  ASSERT_EQ(result.pool.size(), 31u);
  for (const Candidate& answer : result.pool) EXPECT_LE(answer.score, result.answer().score);
}

}  // namespace
}  // namespace counterbeam
