// Tasks of users: rows of every grader, task files, and an error with a remedy for every bad row.
#include "eval/own_tasks.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "eval/run.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

using testing::TemporaryFolder;

class OwnTasks : public ::testing::Test {
 protected:
  std::vector<TaskData> load(const std::string& name, const std::string& content,
                             const std::string& grader, const TaskPrompts& prompts = {}) {
    TaskOptions options;
    options.grader = grader;
    options.prompts = prompts;
    return load_tasks({folder_.write(name, content).string()}, options);
  }
  std::string refusal(const std::string& name, const std::string& content,
                      const std::string& grader) {
    try {
      load(name, content, grader);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder_;
};

TEST_F(OwnTasks, EveryGraderHasItsRows) {
  const TaskData math = load("m.jsonl",
                             R"({"id": "a", "question": "1+1?", "answer": 2})"
                             "\n"
                             R"({"id": "b", "question": "1/2?", "answer": "\\frac12"})",
                             "math")
                            .at(0);
  EXPECT_EQ(math.name, "m");
  EXPECT_EQ(math.judging, Judging::Math);
  EXPECT_EQ(math.problems[0].gold, "2");
  EXPECT_EQ(math.problems[1].id, "b");
  EXPECT_EQ(math.problems[0].question.text, "1+1?");
  EXPECT_NE(math.problems[0].question.system.find("\\boxed"), std::string::npos);
  EXPECT_EQ(math.file_sha256.size(), 64u);

  const TaskData choice = load("c.jsonl",
                               R"({"question": "Red?", "choices": ["x", "y", "z"], "answer": 1})"
                               "\n"
                               R"({"question": "Blue?", "choices": ["x", "y"], "answer": "A"})",
                               "choice")
                              .at(0);
  EXPECT_EQ(choice.problems[0].gold, "B");
  EXPECT_EQ(choice.problems[1].gold, "A");
  EXPECT_EQ(choice.problems[1].id, "1");
  EXPECT_NE(choice.problems[0].question.text.find("A) x  B) y  C) z"), std::string::npos);
  EXPECT_NE(choice.problems[0].question.text.find("one of ABC "), std::string::npos);

  const TaskData code =
      load("k.jsonl",
           R"({"id": 7, "prompt": "def f():", "test": "def check(c): pass", "entry_point": "f"})",
           "code")
          .at(0);
  EXPECT_EQ(code.problems[0].id, "7");
  EXPECT_EQ(code.problems[0].code.entry_point, "f");

  const TaskData exact =
      load("e.csv", "id,question,answer\n1,Capital of France?,Paris\n", "exact").at(0);
  EXPECT_EQ(exact.problems[0].question.system, "");
  EXPECT_EQ(exact.problems[0].gold, "Paris");

  const TaskData regex =
      load("r.jsonl", R"x({"question": "Say hello.", "answer": "(?i:hel+o)"})x", "regex").at(0);
  EXPECT_EQ(regex.judging, Judging::Regex);
}

TEST_F(OwnTasks, AnyFieldIsFilledIntoThePrompt) {
  const TaskData task =
      load("t.jsonl", R"({"question": "How {tall}?", "answer": 1, "unit": "cm", "n": [1]})", "math",
           {"", "{question} In {unit}, {n}, {nothing}."})
          .at(0);
  EXPECT_EQ(task.problems[0].question.text, "How {tall}? In cm, [1], {nothing}.");
  EXPECT_EQ(task.problems[0].question.system, "") << "an empty system message is none";
}

TEST_F(OwnTasks, EveryBadRowIsNamed) {
  struct Case {
    const char* grader;
    const char* row;
    const char* part;
  };
  const Case cases[] = {
      {"math", R"({"answer": 1})", "field \"question\" is missing"},
      {"math", R"({"question": "", "answer": 1})", "field \"question\" is empty"},
      {"math", R"({"question": 3, "answer": 1})", "field \"question\" is 3"},
      {"math", R"({"question": "q"})", "field \"answer\" is missing"},
      {"math", R"({"question": "q", "answer": null})", "field \"answer\" is null"},
      {"math", R"({"question": "q", "answer": true})", "a text or a number is needed"},
      {"math", R"({"question": "q", "answer": " "})", "field \"answer\" is empty"},
      {"math", R"({"id": [], "question": "q", "answer": 1})", "field \"id\" is []"},
      {"choice", R"({"question": "q", "answer": 0})", "field \"choices\" is missing"},
      {"choice", R"({"question": "q", "choices": "ab", "answer": 0})", "must be a list"},
      {"choice", R"({"question": "q", "choices": ["a"], "answer": 0})", "has 1 choices"},
      {"choice", R"({"question": "q", "choices": ["a", 2], "answer": 0})", "must hold texts"},
      {"choice", R"({"question": "q", "choices": ["a", " "], "answer": 0})", "not empty"},
      {"choice", R"({"question": "q", "choices": ["a", "b"], "answer": 2})",
       "field \"answer\" is 2; allowed: 0 to 1, or \"A\" to \"B\""},
      {"choice", R"({"question": "q", "choices": ["a", "b"], "answer": "C"})", "is C; allowed"},
      {"choice", R"({"question": "q", "choices": ["a", "b"], "answer": "1"})", "is 1; allowed"},
      {"choice", R"({"question": "q", "choices": ["a", "b"], "answer": -1})", "is -1; allowed"},
      {"choice", R"({"choices": ["a", "b"], "answer": 1})", "field \"question\" is missing"},
      {"code", R"({"prompt": "def f():", "entry_point": "f"})", "field \"test\" is missing"},
      {"code", R"({"prompt": "def f():", "test": "", "entry_point": "f"})", "\"test\" is empty"},
      {"code", R"({"prompt": "def f():", "test": "x"})", "field \"entry_point\" is missing"},
      {"exact", R"({"question": "q", "answer": {}})", "a text or a number is needed"},
      {"regex", R"({"question": "q", "answer": "("})", "the pattern \"(\" cannot be read"},
      {"regex", R"({"question": "q", "answer": 5})", "field \"answer\" is 5"},
      {"regex", "[]", "a JSON object is needed"},
  };
  for (const Case& c : cases) {
    const std::string good = c.grader == std::string("choice")
                                 ? R"({"question": "q", "choices": ["a", "b"], "answer": 0})"
                             : c.grader == std::string("code")
                                 ? R"({"prompt": "p", "test": "t", "entry_point": "f"})"
                                 : R"({"question": "q", "answer": "1"})";
    const std::string message = refusal("t.jsonl", good + "\n" + c.row + "\n", c.grader);
    EXPECT_NE(message.find("t.jsonl: row 2: "), std::string::npos) << c.row << ": " << message;
    EXPECT_NE(message.find(c.part), std::string::npos) << c.row << ": " << message;
  }
  EXPECT_NE(refusal("t.jsonl",
                    R"({"id": "x", "question": "q", "answer": 1})"
                    "\n"
                    R"({"id": "x", "question": "r", "answer": 1})",
                    "math")
                .find("occurs twice"),
            std::string::npos);
}

TEST_F(OwnTasks, NamesAndGradersAreChecked) {
  const std::string row = R"({"question": "q", "answer": "1"})";
  EXPECT_NE(refusal("t.jsonl", row, "").find("needs --grader, one of math, choice"),
            std::string::npos);
  EXPECT_NE(refusal("t.jsonl", row, "maths").find("did you mean math?"), std::string::npos);
  EXPECT_NE(refusal("math500.jsonl", row, "math").find("is the name of a task"), std::string::npos);
  EXPECT_NE(refusal("average.jsonl", row, "math").find("give yours another"), std::string::npos);
  EXPECT_NE(refusal("my task.jsonl", row, "math").find("must consist of letters"),
            std::string::npos);
  TaskOptions options;
  options.grader = "math";
  EXPECT_THROW(load_tasks({"tiny-math"}, options), Error) << "known tasks have their grader";
  options.data = folder_.path();
  EXPECT_THROW(load_tasks({(folder_.path() / "t.jsonl").string()}, options), Error) << "--data";
  EXPECT_THROW(load_tasks({(folder_.path() / "none.jsonl").string()}, options), Error);
  EXPECT_EQ(load("My_Set-2.v1.jsonl", row, "math").at(0).name, "My_Set-2.v1");
  TaskOptions one_file;
  one_file.data = folder_.write("one.jsonl", row);
  EXPECT_THROW(load_tasks({"math500", "gsm8k"}, one_file), Error) << "one file for two tasks";
}

TEST_F(OwnTasks, ATaskFileNamesSeveral) {
  folder_.write("data/a.jsonl", R"({"question": "q", "answer": 1, "hint": "h"})"
                                "\n"
                                R"({"question": "r", "answer": 2, "hint": "i"})");
  folder_.write("data/b.jsonl", R"({"question": "q", "answer": "yes"})");
  const std::vector<TaskData> tasks = load("set.json", R"({"tasks": [
      {"file": "data/a.jsonl", "grader": "math", "name": "first", "prompt": "{question} {hint}",
       "system": "", "limit": 1},
      {"file": "data/b.jsonl", "grader": "exact"}]})",
                                           "");
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].name, "first");
  ASSERT_EQ(tasks[0].problems.size(), 1u);
  EXPECT_EQ(tasks[0].problems[0].question.text, "q h");
  EXPECT_EQ(tasks[0].problems[0].question.system, "");
  EXPECT_EQ(tasks[1].name, "b");
  EXPECT_EQ(tasks[1].judging, Judging::Exact);

  const std::pair<const char*, const char*> bad[] = {
      {"[]", "a task file is"},
      {R"({"tasks": []})", "a task file is"},
      {R"({"tasks": {}})", "a task file is"},
      {R"({"tasks": [{"file": "data/a.jsonl", "grader": "math"}], "more": 1})", "a task file is"},
      {R"({"tasks": [{"file": "", "grader": "math"}]})", "file"},
      {R"({"tasks": [{"file": "data/a.jsonl", "grader": "math", "name": ""}]})",
       "must consist of letters"},
      {R"({"tasks": [{"file": "data/a.jsonl", "grader": "math", "name": "a{b"}]})",
       "must consist of letters"},
      {R"({"tasks": [1]})", "task 1: an object is needed"},
      {R"({"tasks": [{"grader": "math"}]})", "file"},
      {R"({"tasks": [{"file": "data/a.jsonl"}]})", "grader"},
      {R"({"tasks": [{"file": "data/a.jsonl", "grader": "maths"}]})", "did you mean math?"},
      {R"({"tasks": [{"file": "data/a.jsonl", "grader": "math", "limits": 3}]})",
       "did you mean limit?"},
      {R"({"tasks": [{"file": "data/a.jsonl", "grader": "math", "limit": 0}]})", "limit"},
      {R"({"tasks": [{"file": "data/a.jsonl", "grader": "math", "name": "gpqa"}]})",
       "is the name of a task"},
      {R"({"tasks": [{"file": "data/none.jsonl", "grader": "math"}]})", "none.jsonl"}};
  for (const auto& [content, part] : bad) {
    const std::string message = refusal("set.json", content, "");
    EXPECT_NE(message.find(part), std::string::npos) << content << ": " << message;
  }
  EXPECT_NE(refusal("set.json", R"({"tasks": []})", "math").find("leave --grader out"),
            std::string::npos);
}

TEST(OwnGraders, ExactAndRegex) {
  TaskData task;
  Problem problem;
  const auto grade = [&](const char* gold, const char* answer) {
    Sample sample;
    sample.answer = answer;
    problem.gold = gold;
    grade_sample(task, problem, nullptr, sample);
    return sample;
  };
  task.judging = Judging::Exact;
  EXPECT_TRUE(grade("Paris", " Paris\n").correct);
  EXPECT_TRUE(grade(" Paris ", "<think>Lyon?</think>Paris").correct);
  EXPECT_TRUE(grade("Paris", "It is <answer> Paris </answer>.").correct);
  EXPECT_TRUE(grade("Paris", "So \\boxed{Paris}").correct);
  EXPECT_FALSE(grade("Paris", "paris").correct);
  EXPECT_FALSE(grade("Paris", "It is Paris").correct);
  EXPECT_FALSE(grade("Paris", "<think> Paris").correct);
  EXPECT_EQ(grade("Paris", "<think> Paris").extracted, "");
  task.extraction = Extraction::Lenient;
  EXPECT_TRUE(grade("Paris", "<think> Paris").correct);
  task.extraction = Extraction::Strict;

  task.judging = Judging::Regex;
  EXPECT_TRUE(grade("[Pp]ar(is|ee)", "It is Paris.").correct);
  EXPECT_EQ(grade("[Pp]ar(is|ee)", "It is Paris.").extracted, "Paris");
  EXPECT_FALSE(grade("\\Aparis\\z", "It is paris").correct);
  EXPECT_FALSE(grade("Paris", "<think>Paris</think>Lyon").correct);
  EXPECT_TRUE(grade("\\Aparis\\z", " paris \n").correct) << "trimmed";
  EXPECT_FALSE(grade("x", "\xff\xfe").correct);
  // A matcher that tries every split of the letters would not end.
  const std::string letters = std::string(2000, 'a') + "b";
  EXPECT_FALSE(grade("(a+)+\\z", letters.c_str()).correct);
  EXPECT_FALSE(grade("(a|aa)+\\z", letters.c_str()).correct);
}

}  // namespace
}  // namespace counterbeam
