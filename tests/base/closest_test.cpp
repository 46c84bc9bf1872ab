#include "base/closest.h"

#include <gtest/gtest.h>

#include <array>

namespace counterbeam {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"--steer", "--steps",   "--seed",
                                                    "ask",     "best-of-n", "mcmc-power"};

TEST(Closest, FindsTheNameThatWasMeant) {
  for (const auto& [typed, meant] : {std::pair{"--ster", "--steer"},
                                     {"--steeer", "--steer"},
                                     {"--seteer", "--steer"},
                                     {"steer", "--steer"},
                                     {"--STEER", "--steer"},
                                     {"-step", "--steps"},
                                     {"aks", "ask"},
                                     {"bestofn", "best-of-n"},
                                     {"mcmc_power", "mcmc-power"}})
    EXPECT_EQ(closest(typed, kNames), meant) << typed;
}

TEST(Closest, OffersNothingFarFetched) {
  for (const char* typed : {"", "-", "--", "x", "--model", "zzzzz", "answer", "do"})
    EXPECT_EQ(closest(typed, kNames), std::nullopt) << typed;
  EXPECT_EQ(closest(std::string(100000, 's'), kNames), std::nullopt);
  EXPECT_EQ(closest("ask", {}), std::nullopt);
}

TEST(Closest, TheFirstWinsATie) {
  constexpr std::array<std::string_view, 2> kTwo = {"beam", "bean"};
  EXPECT_EQ(closest("beas", kTwo), "beam");
}

TEST(Closest, EndsAnError) {
  EXPECT_EQ(did_you_mean("--ster", kNames), "; did you mean --steer?");
  EXPECT_EQ(did_you_mean("--zebra", kNames), "");
}

}  // namespace
}  // namespace counterbeam
