// Tests the host side of the CUDA back end on a simulated device that runs everything as late as
// allowed: the inputs of a step must be valid when it runs, whatever the host has queued in the
// meantime.
#include "engine/schedules.h"

namespace counterbeam {
namespace {

using namespace testing;

TEST(SimulatedDevice, AttentionInRandomSchedules) {
  EXPECT_GE(run_schedules(tiny_attention(), 6, 10, {.device = "cuda"}).dropped, 10);
}

TEST(SimulatedDevice, RecurrentLayersInRandomSchedules) {
  EXPECT_GE(run_schedules(tiny_recurrent(), 6, 10, {.device = "cuda"}).dropped, 10);
}

}  // namespace
}  // namespace counterbeam
