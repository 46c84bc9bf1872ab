// Votes of self-consistency: the extracted answer, or none.
#include "eval/vote.h"

#include <gtest/gtest.h>

#include "grade/vote.h"

namespace counterbeam {
namespace {

TEST(Vote, IsTheAnswerAsTheTaskJudgesIt) {
  const TaskData math{"m", Judging::Math, {}}, choice{"c", Judging::Choice, {}},
      code{"p", Judging::Code, {}};
  Problem problem;
  problem.code = {"def f():\n", "", "f"};
  EXPECT_EQ(vote(math, problem, "So it is \\boxed{7}."), "7");
  EXPECT_EQ(vote(math, problem, "So it is \\boxed{7}."), math_vote("\\boxed{7}"));
  EXPECT_EQ(vote(choice, problem, "The answer is (B)."), "B");
  EXPECT_EQ(vote(code, problem, "```python\ndef f():\n    return 1\n```"),
            "def f():\n    return 1");
}

TEST(Vote, MathematicsByValueTheRestByText) {
  const TaskData math{"m", Judging::Math, {}}, choice{"c", Judging::Choice, {}},
      code{"p", Judging::Code, {}};
  for (const char* half : {"2/4", "0.5", "\\frac12", "\\frac{1}{2}", ".5"}) {
    EXPECT_TRUE(same_vote(math, "1/2", half)) << half;
    EXPECT_TRUE(same_vote(math, half, "1/2")) << half;
  }
  EXPECT_FALSE(same_vote(math, "1/2", "1/3"));
  EXPECT_TRUE(same_vote(choice, "A", "A"));
  EXPECT_FALSE(same_vote(choice, "A", "B"));
  EXPECT_FALSE(same_vote(code, "return 1/2", "return 2/4"));
}

TEST(Vote, NothingFoundIsNoVote) {
  const TaskData math{"m", Judging::Math, {}}, choice{"c", Judging::Choice, {}},
      code{"p", Judging::Code, {}};
  const Problem problem;
  for (const TaskData& task : {math, choice, code})
    EXPECT_FALSE(vote(task, problem, "").has_value()) << task.name;
  EXPECT_FALSE(math_vote("<think> it may be 7").has_value());
}

}  // namespace
}  // namespace counterbeam
