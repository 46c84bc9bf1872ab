#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "theory/bounds.h"
#include "theory/exact.h"
#include "theory/power_toy.h"

namespace counterbeam {
namespace {

TEST(Theory, NoBoundIsViolatedOnRandomToys) {
  std::mt19937_64 random(17);
  for (int toy = 0; toy < 500; ++toy) {
    const int vocab = 2 + static_cast<int>(random() % 3);
    const int horizon = 2 + static_cast<int>(random() % (vocab == 2 ? 6 : 4));
    const bool balanced = vocab % 2 == 0 && random() % 2;
    const double contrast = 0.05 + static_cast<double>(random() % 100) / 50;
    const double steer = 0.05 + static_cast<double>(random() % 100) / 80;
    const ToyModel model = ToyModel::random(vocab, horizon, random(), contrast, balanced);
    const ExactTheory theory(model, steer);
    const auto target = theory.target();
    for (int chunk = 1; chunk <= horizon; ++chunk) {
      const TruncationBounds bounds{horizon, chunk, theory.largest_reward(), steer, balanced};
      for (int t = 0; t < horizon; t += chunk)
        EXPECT_LE(theory.worst_step(t, chunk), bounds.step(t) + 1e-12);
      const double distance = total_variation(target, theory.truncated(chunk));
      EXPECT_LE(distance, bounds.trajectory() + 1e-12);
      EXPECT_LE(bounds.trajectory(), bounds.closed_form() + 1e-12);
      if (horizon % chunk == 0 && !balanced) {
        EXPECT_NEAR(bounds.closed_form(),
                    theory.largest_reward() * steer * horizon * (horizon - chunk) / (2.0 * chunk),
                    1e-9);
      }
    }
  }
}

TEST(Theory, DecompositionReproducesTheTarget) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const ExactTheory theory(ToyModel::random(3, 5, seed, 1.5), 0.7);
    const auto target = theory.target();
    const auto decomposed = theory.decomposed();
    double sum = 0;
    for (std::size_t i = 0; i < target.size(); ++i) {
      EXPECT_NEAR(target[i], decomposed[i], 1e-12);
      sum += target[i];
    }
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

TEST(Theory, ChunkLengthsRangeFromNaiveToExact) {
  const ExactTheory theory(ToyModel::random(3, 6, 4, 1.5), 0.7);
  EXPECT_NEAR(total_variation(theory.truncated(6), theory.target()), 0, 1e-12);
  EXPECT_GT(total_variation(theory.truncated(1), theory.target()),
            total_variation(theory.truncated(3), theory.target()));
  EXPECT_EQ((TruncationBounds{6, 2, 1, 1, false}.step(4)), 0);
}

TEST(Theory, BalancedToysHaveMeanRewardZero) {
  const ToyModel model = ToyModel::random(4, 3, 9, 1.0, true);
  model.each_prefix([&](std::span<const TokenId> prefix) {
    double mean = 0;
    for (TokenId v = 0; v < 4; ++v)
      mean += model.probabilities(ToyContext::Base, prefix)[static_cast<std::size_t>(v)] *
              model.reward(prefix, v);
    EXPECT_NEAR(mean, 0, 1e-12);
  });
}

TEST(Theory, ReweightingLemmaHolds) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> unit(0.01, 1);
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<double> p(5), q(5);
    double least = 1e9, most = 0, sum_p = 0, sum_q = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double factor = unit(random);
      least = std::min(least, factor), most = std::max(most, factor);
      sum_p += p[i] = unit(random);
      sum_q += q[i] = p[i] * factor;
    }
    for (double& value : p) value /= sum_p;
    for (double& value : q) value /= sum_q;
    EXPECT_LE(total_variation(p, q), reweighting_bound(least, most) + 1e-12);
  }
}

TEST(PowerToy, PublishedFigures) {
  const ToyModel model = plan_or_guess();
  EXPECT_NEAR(power_zeta(model, {0}, 4), 0.814512, 1e-6);
  EXPECT_NEAR(power_zeta(model, {1}, 4), 0.132513, 1e-6);
  EXPECT_NEAR(power_first_token(model, 4)[0], 0.548361, 1e-6);
  EXPECT_NEAR(low_temperature_first_token(model, 4)[0], 0.164948, 1e-6);
  const auto answers = power_distribution(model, 4);
  const double published[] = {.54836, .00000, .31188, .13976};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(answers[i], published[i], 5e-6);
}

TEST(ToyModel, TooLargeIsRejected) {
  EXPECT_THROW(ToyModel(10, 10), Error);
}

}  // namespace
}  // namespace counterbeam
