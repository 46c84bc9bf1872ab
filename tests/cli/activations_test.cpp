// Tests the option --activations.
#include <gtest/gtest.h>

#include "base/json.h"
#include "support/run_command.h"

namespace counterbeam {
namespace {

using testing::run_counterbeam;

constexpr const char* kBench =
    " --device cpu bench --rows 2 --context 40 --tokens 4 --prefill 8 --beams 2 --block 4 "
    "--rounds 1 --json";

TEST(Activations, AreNamedByTheEngine) {
  const auto plain = run_counterbeam(kBench);
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(plain.out.find("int8 activations"), std::string::npos) << plain.out;
  const auto result = run_counterbeam(std::string("--activations int8") + kBench);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find(", int8 activations,"), std::string::npos) << result.out;
}

TEST(Activations, OtherNamesAndBackEndsAreErrors) {
  const auto unknown = run_counterbeam("--activations int4 inspect");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("--activations"), std::string::npos) << unknown.err;
  const auto cuda = run_counterbeam("--activations int8 --device cuda ask 'Compute 1 + 1.'");
  EXPECT_EQ(cuda.code, 2);
  EXPECT_NE(cuda.err.find("--device cuda does not offer --activations int8"), std::string::npos)
      << cuda.err;
}

TEST(Activations, ThatChangeNothingAreAWarning) {
  const auto result = run_counterbeam(
      "--activations int8 --device cpu ask --method greedy --max-tokens 4 'Compute 1 + 1.'");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("--activations int8 changes nothing"), std::string::npos) << result.err;
  const auto inspect = run_counterbeam("--activations int8 --device cpu inspect --json");
  EXPECT_EQ(Json::parse(inspect.out)["memory"]["int8_activations"], 0) << inspect.out;
}

}  // namespace
}  // namespace counterbeam
