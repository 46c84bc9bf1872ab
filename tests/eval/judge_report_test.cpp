// The report of the test's interpreter, byte for byte.
#include "eval/judge_report.h"

#include <gtest/gtest.h>

namespace counterbeam {
namespace {

using Kind = JudgeReport::Kind;

TEST(JudgeReport, KnowsItsStates) {
  for (const CodeState state :
       {CodeState::Pass, CodeState::Fail, CodeState::Error, CodeState::Memory}) {
    const JudgeReport report = read_report(std::string(to_string(state)) + "\nwhy\nmore");
    EXPECT_EQ(report.kind, Kind::Verdict);
    EXPECT_EQ(report.verdict.state, state);
    EXPECT_EQ(report.verdict.detail, "why\nmore");
  }
  EXPECT_EQ(read_report("gone\nx").kind, Kind::Gone);
  EXPECT_EQ(read_report("unusable\nthe test").kind, Kind::Unusable);
  EXPECT_EQ(read_report("unusable\nthe test").verdict.detail, "the test");
}

TEST(JudgeReport, TakesNothingElseForAPass) {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {""sv, "\n"sv, "\npass"sv, "Pass\n"sv, "pass \n"sv, " pass\n"sv, "pass\r\n"sv, "pass\0\n"sv,
        "passed\n"sv, "pas"sv, "fail\npass\n"sv, "started\npass\n"sv, "timeout\n"sv,
        "killed\n"sv}) {
    const JudgeReport report = read_report(text);
    EXPECT_TRUE(report.kind == Kind::Missing || text.starts_with("fail\n")) << text;
    EXPECT_NE(report.verdict.state, CodeState::Pass) << text;
  }
  EXPECT_EQ(read_report("nothing").verdict.detail, "the test ended without a verdict");
}

}  // namespace
}  // namespace counterbeam
