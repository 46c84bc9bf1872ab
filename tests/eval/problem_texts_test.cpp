// problems.jsonl has the question of every sample, except for those that must not be published.
#include "eval/problem_texts.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

using testing::TemporaryFolder;

TaskData task_of(const std::string& name, Judging judging, int problems, bool withheld = false) {
  TaskData task{name, judging, {}, withheld};
  for (int i = 0; i < problems; ++i) {
    Problem problem;
    problem.id = name + "/" + std::to_string(i);
    problem.question.text = "What is \"" + std::to_string(i) + "\"?\n</script>";
    problem.gold = std::to_string(i);
    problem.code.test = "def check(candidate):\n    pass\n";
    task.problems.push_back(problem);
  }
  return task;
}

TEST(ProblemTexts, QuestionAndGoldRoundTrip) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_problem_texts(folder.path()).empty());
  write_problem_texts(folder.path(),
                      {task_of("m", Judging::Math, 2), task_of("c", Judging::Code, 1)});
  const std::vector<ProblemText> found = read_problem_texts(folder.path());
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[1].id, "m/1");
  EXPECT_EQ(found[1].question, "What is \"1\"?\n</script>");
  EXPECT_EQ(found[1].gold, "1");
  EXPECT_EQ(found[2].gold, "def check(candidate):\n    pass\n");
}

TEST(ProblemTexts, AWithheldQuestionIsNotWritten) {
  const TemporaryFolder folder;
  write_problem_texts(folder.path(), {task_of("gpqa", Judging::Choice, 1, true)});
  EXPECT_EQ(read_file(folder.path() / "problems.jsonl").find("What"), std::string::npos);
  const std::vector<ProblemText> found = read_problem_texts(folder.path());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].question, "");
  EXPECT_EQ(found[0].gold, "0");
}

TEST(ProblemTexts, GpqaIsWithheldAndTheOthersAreNot) {
  const TemporaryFolder folder;
  const auto csv = folder.write("g.csv",
                                "Question,Correct Answer,Incorrect Answer 1,Incorrect Answer "
                                "2,Incorrect Answer 3\nq,a,b,c,d");
  EXPECT_TRUE(load_task("gpqa", csv, 0).withheld);
  const auto rows = folder.write("test.jsonl", R"({"problem": "x", "answer": "1"})");
  EXPECT_FALSE(load_task("math500", rows, 0).withheld);
}

TEST(ProblemTexts, FurtherTasksAreAddedAndShardsMerged) {
  const TemporaryFolder folder;
  const auto a = folder.path() / "a", b = folder.path() / "b", all = folder.path() / "all";
  for (const auto& path : {a, b, all}) std::filesystem::create_directories(path);
  write_problem_texts(a, {task_of("m", Judging::Math, 2)});
  write_problem_texts(a, {task_of("n", Judging::Math, 1)});
  write_problem_texts(a, {task_of("m", Judging::Math, 2)});  // again: no duplicates
  EXPECT_EQ(read_problem_texts(a).size(), 3u);
  write_problem_texts(b, {task_of("m", Judging::Math, 2)});
  merge_problem_texts({a, b, folder.path() / "none"}, all);
  EXPECT_EQ(read_problem_texts(all).size(), 3u);
}

}  // namespace
}  // namespace counterbeam
