// A request gives the same bits whatever runs concurrently, in a thousand random schedules
// (schedules.h).
#include "engine/schedules.h"

#include "backend/cpu_support.h"
#include "support/test_size.h"

namespace counterbeam {
namespace {

using namespace testing;

void run_a_thousand(const LocalOptions& on) {
  const Tally attention = run_schedules(tiny_attention(), 20, 25, on);
  const Tally recurrent = run_schedules(tiny_recurrent(), 20, 25, on);
  EXPECT_EQ(attention.schedules + recurrent.schedules, 1000);
  // Depends on thread timing; about 500 each in a typical run.
  EXPECT_GE(attention.dropped, 100);
  EXPECT_GE(recurrent.dropped, 100);
}

TEST(Schedules, AThousandRandomOnesGiveTheSameBitsAsEachRequestAlone) {
  run_a_thousand({.threads = 1, .isa = "reference"});
}

TEST(Schedules, AThousandOnTheDefaultBackEnd) {
  const std::string isa(name_of(choose_isa("")));
  run_a_thousand({.precision = Precision::Bf16, .threads = 2, .isa = isa});
}

TEST(Schedules, AThousandOnTheGpu) {
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  int schedules = 0;
  for (const ModelConfig& config : {tiny_attention(), tiny_recurrent(), tiny_windows()})
    schedules += run_schedules(config, 16, 21, {.device = "cuda"}).schedules;
  EXPECT_GE(schedules, 1000);
  for (const CacheType type : {CacheType::Fp8, CacheType::Int8}) {
    run_schedules(tiny_attention(), 4, 10, {.device = "cuda", .cache_type = type});
    run_schedules(tiny_windows(), 4, 10, {.device = "cuda", .cache_type = type});
  }
}

TEST(Schedules, CachesOfEightBitsOnTheReference) {
  for (const CacheType type : {CacheType::Fp8, CacheType::Int8}) {
    run_schedules(tiny_attention(), 6, 10, {.threads = 1, .isa = "reference", .cache_type = type});
    run_schedules(tiny_recurrent(), 6, 10, {.threads = 1, .isa = "reference", .cache_type = type});
  }
}

class CpuSchedules : public CpuPaths {};
INSTANTIATE_TEST_SUITE_P(Paths, CpuSchedules, ::testing::ValuesIn(all_paths()), path_name);

TEST_P(CpuSchedules, GiveTheSameBits) {
  const LocalOptions on{
      .precision = GetParam().precision, .threads = 2, .isa = std::string(name_of(GetParam().isa))};
  run_schedules(tiny_attention(), sized(6, 2), 10, on);
  run_schedules(tiny_recurrent(), sized(6, 2), 10, on);
  run_schedules(tiny_windows(), sized(4, 2), 10, on);
}

TEST_P(CpuSchedules, GiveTheSameBitsWithACacheOfEightBits) {
  LocalOptions on{
      .precision = GetParam().precision, .threads = 2, .isa = std::string(name_of(GetParam().isa))};
  for (const CacheType type : {CacheType::Fp8, CacheType::Int8}) {
    on.cache_type = type;
    run_schedules(tiny_attention(), sized(4, 1), 10, on);
    run_schedules(tiny_windows(), sized(4, 1), 10, on);
  }
}

}  // namespace
}  // namespace counterbeam
