// Tests the host side of the CUDA back end on a simulated device that runs everything as late as
// allowed: the inputs of a step must be valid when it runs, whatever the host has queued in the
// meantime.
#include "engine/schedules.h"
#include "support/bad_case.h"

namespace counterbeam {
namespace {

using namespace testing;

TEST(SimulatedDevice, AttentionInRandomSchedules) {
  EXPECT_GE(run_schedules(tiny_attention(), 6, 10, {.device = "cuda"}).dropped, 10);
}

TEST(SimulatedDevice, RecurrentLayersInRandomSchedules) {
  EXPECT_GE(run_schedules(tiny_recurrent(), 6, 10, {.device = "cuda"}).dropped, 10);
}

TEST(SimulatedDevice, LayersWithWindowsInRandomSchedules) {
  EXPECT_GE(run_schedules(tiny_windows(), 6, 10, {.device = "cuda"}).dropped, 10);
}

TEST(SimulatedDevice, CachesOfEightBitsInRandomSchedules) {
  for (const CacheType type : {CacheType::Fp8, CacheType::Int8}) {
    run_schedules(tiny_attention(), 4, 10, {.device = "cuda", .cache_type = type});
    run_schedules(tiny_recurrent(), 4, 10, {.device = "cuda", .cache_type = type});
  }
}

TEST(SimulatedDevice, CodesTakeHalfTheMemoryOfBf16) {
  const auto ops = make_cuda_ops();
  const std::int64_t bf16 = ops->page_bytes({3, 4, 128});
  for (const CacheType type : {CacheType::Fp8, CacheType::Int8}) {
    EXPECT_GE(ops->page_bytes({3, 4, 128, type}), bf16 / 2);
    EXPECT_LE(ops->page_bytes({3, 4, 128, type}), bf16 * 53 / 100);
  }
}

TEST(SimulatedDevice, HeadsTooWideAreRefused) {
  const auto ops = make_cuda_ops();
  ops->make_kv_store({.layers = 1, .heads = 1, .head_dim = 256}, 4);
  expect_message("a head of 258 columns",
                 "heads of 258 columns are too wide for the GPU, which takes up to 256; use "
                 "--device cpu",
                 [&] { ops->make_kv_store({.layers = 1, .heads = 1, .head_dim = 258}, 4); });
}

}  // namespace
}  // namespace counterbeam
