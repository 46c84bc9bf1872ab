// The host's side of the CUDA back end on a device that does everything as late as it may: what a
// step needs is there when it runs, whatever else the host has asked for meanwhile.
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
