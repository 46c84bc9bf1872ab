#include "base/units.h"

#include <gtest/gtest.h>

namespace counterbeam {
namespace {

TEST(Units, Bytes) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(1 << 20), "1 MiB");
  EXPECT_EQ(human_bytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(human_bytes(std::int64_t{20'000'000'000}), "18.6 GiB");
}

TEST(Units, Counts) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1000), "1,000");
  EXPECT_EQ(human_count(752393024), "752,393,024");
  EXPECT_EQ(human_count(-1234567), "-1,234,567");
  EXPECT_EQ(human_count(-123), "-123");
}

TEST(Units, Durations) {
  EXPECT_EQ(human_duration(-1), "0.0 s");
  EXPECT_EQ(human_duration(0.44), "0.4 s");
  EXPECT_EQ(human_duration(59.4), "59 s");
  EXPECT_EQ(human_duration(59.6), "1:00 min");
  EXPECT_EQ(human_duration(187), "3:07 min");
  EXPECT_EQ(human_duration(7530), "2:05:30 h");
}

}  // namespace
}  // namespace counterbeam
