#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace counterbeam {
namespace {

// Known answers published with Random123 (kat_vectors, philox4x32 10).
TEST(Philox, PublishedVectors) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Uniform, EveryPartOfTheKeyMatters) {
  const DrawKey base{1, 2, 3, 4, 5};
  std::set<double> seen{uniform(base)};
  for (DrawKey key :
       {DrawKey{9, 2, 3, 4, 5}, DrawKey{1 | (1ull << 40), 2, 3, 4, 5}, DrawKey{1, 9, 3, 4, 5},
        DrawKey{1, 2, 9, 4, 5}, DrawKey{1, 2, 3, 9, 5}, DrawKey{1, 2, 3, 4, 9}})
    EXPECT_TRUE(seen.insert(uniform(key)).second);
  EXPECT_EQ(uniform(base), uniform(base));
}

// A use has bits of its own in what is encrypted, so keys of two uses never meet; that of the
// tokens is 0, so answers do not depend on which other uses there are.
TEST(Uniform, UsesNeverShareAKey) {
  const DrawUse uses[] = {DrawUse::Tokens,         DrawUse::Choices,       DrawUse::SignFlips,
                          DrawUse::Metropolis,     DrawUse::GradingPoints, DrawUse::WeightVectors,
                          DrawUse::WeightMatrices, DrawUse::ToyModels,     DrawUse::BenchPrompts,
                          DrawUse::ProblemOrder,   DrawUse::PowerChoice};
  std::set<Words4> seen;
  for (const DrawUse use : uses)
    for (const std::uint32_t beam : {0u, 1u, 2u, kMostBeams - 1})
      for (const std::uint32_t position : {0u, 1u, 0xffffffffu}) {
        const DrawKey key{3, 5, 7, beam, position, use};
        EXPECT_EQ(random_words(key),
                  philox({5, 7, static_cast<std::uint32_t>(use) << 24 | beam, position}, {3, 0}));
        EXPECT_TRUE(seen.insert(random_words(key)).second);
      }
  EXPECT_EQ(random_words({3, 5, 7, 9, 11}), philox({5, 7, 9, 11}, {3, 0})) << "tokens of answers";
}

TEST(Uniform, ABeamBeyondTheRoomStopsTheProgram) {
  EXPECT_DEATH(uniform({0, 0, 0, kMostBeams, 0}), "kMostBeams");
}

TEST(Uniform, StaysInRangeAndIsFlat) {
  constexpr std::uint32_t kDraws = 100000;
  std::array<int, 16> bins{};
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    const double u = uniform({7, 0, 0, 0, i});
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++bins[static_cast<std::size_t>(u * 16)];
  }
  double chi2 = 0;
  for (int count : bins) chi2 += std::pow(count - kDraws / 16.0, 2) / (kDraws / 16.0);
  EXPECT_LT(chi2, 37.7);  // 15 degrees of freedom, p = 0.001
}

TEST(UniformBelow, CoversTheRange) {
  std::set<std::uint64_t> seen;
  for (std::uint32_t i = 0; i < 1000; ++i) seen.insert(uniform_below({1, 0, 0, 0, i}, 7));
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace counterbeam
