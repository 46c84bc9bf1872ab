#include "base/trim.h"

#include <gtest/gtest.h>

namespace counterbeam {
namespace {

TEST(Trim, TakesAwayTheWhiteSpaceAround) {
  EXPECT_EQ(trim(" \t\r\n two words \n"), "two words");
  EXPECT_EQ(trim("whole"), "whole");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim(" \n\t\r"), "");
}

TEST(Trim, KeepsWhatIsNotInTheSet) {
  EXPECT_EQ(trim("\fa\v"), "\fa\v");
  EXPECT_EQ(trim("\fa\v ", kAsciiSpace), "a");
  EXPECT_EQ(trim("\u00A0a\u00A0"), "\u00A0a\u00A0");
}

TEST(Trim, EachEndHasItsOwnSet) {
  EXPECT_EQ(trim("::x\\", ":", "\\"), "x");
  EXPECT_EQ(trim("\\x:", ":", "\\"), "\\x:");
  EXPECT_EQ(trim(":\\", ":", ":\\"), "");  // the ends meet
  EXPECT_EQ(trim(" x ", "", kLineSpace), " x");
}

}  // namespace
}  // namespace counterbeam
