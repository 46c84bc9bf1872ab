// Whatever runs beside it, a request gives the same bits, a thousand times (schedules.h).
#include "engine/schedules.h"

namespace counterbeam {
namespace {

using namespace testing;

TEST(Schedules, AThousandRandomOnesGiveTheSameBitsAsEachRequestAlone) {
  const Tally attention = run_schedules(tiny_attention(), 20, 25, "reference", 1);
  const Tally recurrent = run_schedules(tiny_recurrent(), 20, 25, "reference", 1);
  EXPECT_EQ(attention.schedules + recurrent.schedules, 1000);
  // How often depends on how the threads meet; some 500 each in a usual run.
  EXPECT_GE(attention.dropped, 100);
  EXPECT_GE(recurrent.dropped, 100);
}

TEST(Schedules, TheGpuToo) {
  if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  run_schedules(tiny_attention(), 6, 10, "", 1, "cuda");
  run_schedules(tiny_recurrent(), 6, 10, "", 1, "cuda");
}

TEST(Schedules, TheCpuBackEndToo) {
  run_schedules(tiny_attention(), 6, 10, "", 2);
  run_schedules(tiny_recurrent(), 6, 10, "", 2);
}

}  // namespace
}  // namespace counterbeam
