// Which back end and which precision a checkpoint gets.
#include "engine/back_end.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/tiny.h"

namespace counterbeam {
namespace {

TEST(BackEnd, ThePrecisionFollowsTheOptionsThenTheCheckpoint) {
  const auto precision = [](DType stored, std::optional<Precision> wish) {
    return choose_back_end({.device = "cpu", .precision = wish}, stored).precision;
  };
  EXPECT_EQ(precision(DType::BF16, {}), Precision::Bf16);
  for (const DType stored : {DType::F32, DType::F16, DType::F64})
    EXPECT_EQ(precision(stored, {}), Precision::F32) << name_of(stored);
  for (const DType stored : {DType::F32, DType::F16, DType::BF16}) {
    EXPECT_EQ(precision(stored, Precision::F32), Precision::F32) << name_of(stored);
    EXPECT_EQ(precision(stored, Precision::Bf16), Precision::Bf16) << name_of(stored);
  }
  const LocalOptions reference{.precision = Precision::Bf16, .isa = "reference"};
  EXPECT_EQ(choose_back_end(reference, DType::BF16).precision, Precision::F32);
}

TEST(BackEnd, TheGpuComputesInBf16) {
  for (const DType stored : {DType::F32, DType::F16, DType::BF16}) {
    const BackEndChoice choice = choose_back_end({.device = "cuda"}, stored);
    EXPECT_TRUE(choice.cuda);
    EXPECT_EQ(choice.precision, Precision::Bf16);
  }
  EXPECT_FALSE(choose_back_end({.device = "auto", .precision = Precision::F32}, DType::BF16).cuda);
  const LocalOptions f32{.device = "cuda", .precision = Precision::F32};
  EXPECT_THROW(choose_back_end(f32, DType::BF16), Error);
  EXPECT_THROW(choose_back_end({.device = "tpu"}, DType::BF16), Error);
}

// What bench multiplies by is what the engine was made with.
TEST(BackEnd, AnEngineKnowsItsPrecision) {
  ModelConfig config = testing::tiny_attention();
  for (const DType stored : {DType::F32, DType::F16, DType::BF16}) {
    config.dtype = stored;
    const auto engine = LocalEngine::random(config);
    EXPECT_EQ(engine->precision(), choose_back_end({}, stored).precision) << name_of(stored);
  }
}

}  // namespace
}  // namespace counterbeam
