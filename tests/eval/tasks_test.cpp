// The prompts of tasks are byte for byte the published ones; choices are shuffled by question.
#include "eval/tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "support/shared_folder.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

using testing::TemporaryFolder;

constexpr const char* kMathSystem =
    R"(You are a helpful AI Assistant that provides well-reasoned and detailed responses. You first think about the reasoning process as an internal monologue and then provide the user with the boxed answer. Respond in the following format: <think> ... </think> <answer> \boxed{...} </answer>.)";

TEST(Tasks, MathPromptsAndGold) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "test.jsonl",
      R"({"problem": "Is {problem} $\\frac{1}{2}$?\n", "solution": "", "answer": "\\frac12", "unique_id": "test/a/1.json"})"
      "\n"
      R"({"problem": "no id", "answer": "3"})");
  const TaskData task = load_task("math500", path, 0);
  ASSERT_EQ(task.problems.size(), 2u);
  EXPECT_EQ(task.judging, Judging::Math);
  const Problem& problem = task.problems[0];
  EXPECT_EQ(problem.id, "test/a/1.json");
  EXPECT_EQ(problem.question.system, kMathSystem);
  EXPECT_EQ(problem.question.text, "Is {problem} $\\frac{1}{2}$?\n");
  EXPECT_EQ(problem.gold, "\\frac12");
  EXPECT_EQ(task.problems[1].id, "1");
}

TEST(Tasks, CodePromptsAndTests) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "HumanEval.jsonl",
      R"({"task_id": "HumanEval/0", "prompt": "def f():\n    \"\"\"{x}\"\"\"\n", "entry_point": "f", "canonical_solution": "", "test": "def check(c): pass"})");
  const Problem problem = load_task("humaneval", path, 0).problems.at(0);
  EXPECT_EQ(
      problem.question.system,
      R"(Please reason step by step internally. Then output ONLY the final Python code that completes the task within triple backticks. Do not include explanations, markdown, or \boxed{}.)");
  EXPECT_EQ(problem.question.text,
            "Complete the following Python function:\ndef f():\n    \"\"\"{x}\"\"\"\n");
  EXPECT_EQ(problem.code.entry_point, "f");
  EXPECT_EQ(problem.code.test, "def check(c): pass");
}

TEST(Tasks, Gsm8kGoldFollowsTheLastHashes) {
  const TemporaryFolder folder;
  const auto path =
      folder.write("test.jsonl", R"({"question": "How many?", "answer": "1 #### 2\n#### 1,234\n"})"
                                 "\n"
                                 R"({"question": "Less?", "answer": "x\n####-7"})");
  const TaskData task = load_task("gsm8k", path, 0);
  EXPECT_EQ(task.problems.at(0).gold, "1234");
  EXPECT_EQ(task.problems.at(1).gold, "-7");
  EXPECT_EQ(task.problems.at(0).question.system, kMathSystem);
  EXPECT_EQ(task.problems.at(0).question.text, "How many?");
}

std::string gpqa_file(int rows) {
  std::string text =
      "Record ID,Subdomain,Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect "
      "Answer 3\r\n";
  for (int i = 0; i < rows; ++i)
    text += "rec" + std::to_string(i) +
            ",Physics,\" What,\nis it? \"\"now\"\"\n\",\" right \n\",wrong,\" wrong\",other\r\n";
  return text;
}

TEST(Tasks, GpqaPromptShuffleAndGoldByIndex) {
  const TemporaryFolder folder;
  const auto path = folder.write("gpqa_diamond.csv", gpqa_file(200));
  const TaskData task = load_task("gpqa", folder.path(), 5);
  ASSERT_EQ(task.problems.size(), 200u);
  const std::vector<std::string> choices = {"right", "wrong", "wrong", "other"};
  std::vector<int> golds(4);
  std::set<std::vector<int>> orders;
  for (const Problem& problem : task.problems) {
    std::vector<int> sorted = problem.permutation;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(sorted, (std::vector<int>{0, 1, 2, 3}));
    std::string line;
    for (int place = 0; place < 4; ++place)
      line +=
          (place ? "  " : "") + std::string(1, static_cast<char>('A' + place)) + ") " +
          choices[static_cast<std::size_t>(problem.permutation[static_cast<std::size_t>(place)])];
    EXPECT_EQ(
        problem.question.text,
        R"(Answer the following multiple choice question. The last line of your response should be of the following format: '\boxed{$LETTER}' (without quotes) where LETTER is one of ABCD (ex. '\boxed{A}'). Think step by step before answering.)"
        "\n\nWhat,\nis it? \"now\"\n\n" +
            line);
    ASSERT_EQ(problem.gold.size(), 1u);
    EXPECT_EQ(problem.permutation[static_cast<std::size_t>(problem.gold[0] - 'A')], 0);
    ++golds[static_cast<std::size_t>(problem.gold[0] - 'A')];
    orders.insert(problem.permutation);
  }
  for (const int count : golds) EXPECT_GT(count, 25) << "the gold answer occurs in all positions";
  EXPECT_EQ(orders.size(), 24u);
  EXPECT_EQ(
      task.problems[0].question.system,
      R"(You are a helpful AI Assistant. Please reason step by step, and put your final answer within \boxed{}.)");

  const TaskData again = load_task("gpqa", path, 5), other = load_task("gpqa", path, 6);
  int equal = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(task.problems[i].permutation, again.problems[i].permutation);
    equal += task.problems[i].permutation == other.problems[i].permutation;
  }
  EXPECT_LT(equal, 30) << "another seed gives another order";
}

TEST(Tasks, TheShuffleOfAQuestionDoesNotDependOnTheRestOfTheFile) {
  const TemporaryFolder folder;
  const TaskData few = load_task("gpqa", folder.write("few.csv", gpqa_file(3)), 1);
  const TaskData many = load_task("gpqa", folder.write("many.csv", gpqa_file(30)), 1);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(few.problems[i].permutation, many.problems[i].permutation);
}

TEST(Tasks, PromptsMayBeOverridden) {
  const TemporaryFolder folder;
  const auto path = folder.write("g.csv", gpqa_file(1));
  const TaskPrompts prompts = {"Be brief.", "{question}|{choice_B}|{choices}|{unknown}{"};
  const Problem problem = load_task("gpqa", path, 0, prompts).problems.at(0);
  EXPECT_EQ(problem.question.system, "Be brief.");
  EXPECT_TRUE(problem.question.text.starts_with("What,\nis it? \"now\"|"));
  EXPECT_TRUE(problem.question.text.ends_with("|{unknown}{"));
}

TEST(Tasks, TheTinyTasksShipWithFiveHundredProblemsEach) {
  for (const char* name : {"tiny-math", "tiny-code", "tiny-choice"}) {
    const TaskData task = load_task(name, COUNTERBEAM_SOURCE_DIR "/tasks", 0);
    EXPECT_EQ(task.problems.size(), 500u) << name;
    for (const Problem& problem : task.problems)
      EXPECT_TRUE(task.judging == Judging::Code ? !problem.code.test.empty()
                                                : !problem.gold.empty());
  }
}

TEST(Tasks, ThePublicFilesLoad) {
  const auto data = testing::shared_folder() / "data";
  CB_NEEDS_SHARED(data);
  EXPECT_EQ(load_task("math500", data, 0).problems.size(), 500u);
  EXPECT_EQ(load_task("humaneval", data, 0).problems.size(), 164u);
  EXPECT_EQ(load_task("gsm8k", data, 0).problems.size(), 1319u);
}

}  // namespace
}  // namespace counterbeam
