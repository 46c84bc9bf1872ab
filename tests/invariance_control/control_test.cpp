// Negative control of tests/engine/schedules_test.cpp: with a back end whose sums depend on the
// size of the batch (batch_dependent_ops.cpp), the comparison of schedules must find differences.
#include "engine/schedules.h"

namespace counterbeam {
namespace {

using namespace testing;

TEST(InvarianceControl, SchedulesFindABackEndThatDependsOnTheBatch) {
  const LocalOptions on{.threads = 1, .isa = "reference"};
  EXPECT_GT(compare_schedules(tiny_attention(), 20, 25, on).wrong, 0);
  EXPECT_GT(compare_schedules(tiny_recurrent(), 20, 25, on).wrong, 0);
  EXPECT_GT(compare_schedules(tiny_windows(), 20, 25, on).wrong, 0);
}

}  // namespace
}  // namespace counterbeam
