// A profile changes no bit, and counts calls, loops and the bytes of weights.
#include "backend/profiled_ops.h"

#include "cpu_support.h"

namespace counterbeam {
namespace {

TEST(ProfiledOps, CountsCallsAndBytesAndChangesNoBit) {
  OperationProfile profile;
  const auto plain = make_cpu_ops(Precision::Bf16, 2);
  const auto watched = make_profiled_ops(make_cpu_ops(Precision::Bf16, 2), profile);
  EXPECT_EQ(watched->name(), plain->name());
  Numbers numbers(1);
  const int rows = 20, in = 640, out = 960;
  const auto weights = numbers.many(std::size_t(out) * in);
  const auto inputs = numbers.many(std::size_t(rows) * in);
  const auto run = [&](Ops& ops) {
    const auto w = pack(ops, weights, out, in);
    begin_rows(ops, rows);
    const Matrix x = put(ops, inputs, rows, in), y = ops.matrix(rows, out);
    ops.matmul(y, x, *w, nullptr);
    ops.matmul(y, x, *w, nullptr);
    ops.add(y, y);
    return get(y);
  };
  EXPECT_TRUE(same_bits(run(*watched), run(*plain)));
  EXPECT_EQ(profile.threads, 2);
  ASSERT_TRUE(profile.operations.contains("matmul 960 x 640"));
  const OperationTimes& times = profile.operations["matmul 960 x 640"];
  EXPECT_EQ(times.calls, 2);
  EXPECT_EQ(times.weight_bytes, 2.0 * out * in * 2);
  EXPECT_GE(times.loops, 2);
  EXPECT_GT(times.busy_seconds, 0);
  EXPECT_LE(times.loop_seconds, times.seconds);
  EXPECT_EQ(profile.operations["add"].calls, 1);
  profile.clear();
  EXPECT_TRUE(profile.operations.empty());
}

}  // namespace
}  // namespace counterbeam
