// Extraction of answers from completions: mathematics, letters, code.
#include "grade/extract.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "grade/grade.h"
#include "support/shared_folder.h"

namespace counterbeam {
namespace {

using testing::shared_folder;

std::vector<Json> golden(const std::string& name) {
  std::ifstream in(std::filesystem::path(COUNTERBEAM_SOURCE_DIR) / "tests/grade/golden" / name);
  std::vector<Json> rows;
  for (std::string line; std::getline(in, line);) rows.push_back(parse_json(line, name));
  return rows;
}

struct Case {
  const char* text;
  const char* answer;
  AnswerSource source;
};

TEST(ExtractMath, FollowsTheDocumentedOrder) {
  const Case cases[] = {
      {"5", "5", AnswerSource::Bare},
      {"\\frac{1}{2}", "\\frac{1}{2}", AnswerSource::Bare},
      {"So $x=\\boxed{\\frac{1}{\\sqrt{2}}}$.", "\\frac{1}{\\sqrt{2}}", AnswerSource::Boxed},
      {"\\boxed{1} is wrong. Try again: \\boxed{2}.", "2", AnswerSource::Boxed},
      {"It is \\boxed {7}.", "7", AnswerSource::Boxed},
      {"Thus $\\boxed 7$.", "7", AnswerSource::Boxed},
      {"\\fbox{8}", "8", AnswerSource::Boxed},
      {"\\boxed{\\text{A \\} brace}}", "\\text{A \\} brace}", AnswerSource::Boxed},
      {"$\\boxed{-2}$ and $\\boxed{1}$", "-2, 1", AnswerSource::Boxed},
      {"\\boxed{1},\\boxed{2},\\boxed{3}", "1, 2, 3", AnswerSource::Boxed},
      {"\\boxed{1} no no no no no \\boxed{2}", "2", AnswerSource::Boxed},
      {"$x=\\boxed{1}$ or $x=\\boxed{2}$", "1, 2", AnswerSource::Boxed},
      {"$a=\\boxed{3}$, so $b=\\boxed{5}$", "5", AnswerSource::Boxed},
      {"So we get 12.", "12", AnswerSource::LastValue},
      {"Thus we have 13 - 1 = 12.", "12", AnswerSource::LastValue},
      {"5 square miles.", "5 square miles.", AnswerSource::Bare},
      {"the answer is 2", "the answer is 2", AnswerSource::Bare},
      {"first \\boxed{9}. Then <answer> 4 </answer>", "4", AnswerSource::Tag},
      {"<think>\\boxed{1}</think> so <answer>$\\boxed{2}$</answer>", "2", AnswerSource::Boxed},
      {"<think> maybe 3 </think>\n\\boxed{4}", "4", AnswerSource::Boxed},
      {"maybe 3 </think>\n\\boxed{4}", "4", AnswerSource::Boxed},
      {"\\boxed{4}<|im_end|>\n<|im_start|>user \\boxed{5}", "4", AnswerSource::Boxed},
      {"We get \\boxed{255}. Final Answer: The final answer is $10,455$. I hope it is correct.",
       "10,455", AnswerSource::FinalAnswer},
      {"So \\boxed{5}. I hope the final answer is right.", "5", AnswerSource::Boxed},
      {"Final Answer: The final answer is $(0, 1)$. I hope it is correct.", "(0, 1)",
       AnswerSource::FinalAnswer},
      {"Final Answer: The largest $n$ is 34.", "34", AnswerSource::FinalAnswer},
      {"3 + 4 = 7 eggs.\n#### 1,007", "1,007", AnswerSource::Hashes},
      {"We add 9 and 3, so the answer is 12. That was easy.", "12", AnswerSource::AnswerIs},
      {"Work, work.\n**Answer:** $\\frac{3}{4}$", "\\frac{3}{4}", AnswerSource::AnswerIs},
      {"The answer is Evelyn. She is faster than Carla.", "Evelyn", AnswerSource::AnswerIs},
      {"There are 12 such sequences, as we saw from $d=90/n$ above all.", "d=90/n",
       AnswerSource::LastValue},
      {"From $d=90/n$ we see that there are 12 such sequences in all.", "12",
       AnswerSource::LastValue},
      {"So each part is (\\frac{2}{5}) of a ton, as they wanted.", "\\frac{2}{5}",
       AnswerSource::LastValue},
      {"The pair $(x, y)$ that solves it is $(7, 6)$.", "(7, 6)", AnswerSource::LastValue},
      {"It costs 40 at first and then $7.78 for the rest of them.", "7.78",
       AnswerSource::LastValue},
      {"In the end the volume must be 1,000.99 m^{3} or so, they say.", "1,000.99",
       AnswerSource::LastValue},
  };
  for (const Case& c : cases) {
    const MathAnswer found = extract_math(c.text);
    EXPECT_EQ(found.text, c.answer) << c.text;
    EXPECT_EQ(static_cast<int>(found.source), static_cast<int>(c.source)) << c.text;
  }
}

TEST(ExtractMath, WholeCompletionsAreGradedByTheirAnswer) {
  const std::vector<Json> table = golden("math_completions.jsonl");
  ASSERT_GT(table.size(), 50u);
  for (const Json& row : table)
    EXPECT_EQ(grade_math(row["gold"].get<std::string>(), row["answer"].get<std::string>()).equal,
              row["equal"].get<bool>())
        << row;
}

TEST(ExtractMath, FindsNothingInAnUnfinishedAnswer) {
  for (const char* text :
       {"", "  \n", "<think> so it is \\boxed{3}", "Hence \\boxed{12", "<think>5"})
    EXPECT_EQ(static_cast<int>(extract_math(text).source), static_cast<int>(AnswerSource::None))
        << text;
}

TEST(ExtractMath, KeepsTheLastBoxForTheStrictVerdict) {
  EXPECT_EQ(extract_math("$\\boxed{-2}$ and $\\boxed{1}$").last_box, "1");
}

TEST(ExtractChoice, ReadsEverySpelling) {
  const std::pair<const char*, char> cases[] = {
      {"C", 'C'},
      {"C.", 'C'},
      {"(C)", 'C'},
      {"c)", 0},
      {"\\boxed{C}", 'C'},
      {"\\boxed{\\text{C}}", 'C'},
      {"\\boxed{\\textbf{(C)}}", 'C'},
      {"$\\boxed{c}$", 'C'},
      {"\\boxed{\\text{C: } 5.1 \\times 10^3}", 'C'},
      {"\\boxed{B}. This is a standard result.", 'B'},
      {"**Answer:** C", 'C'},
      {"**Answer: C**", 'C'},
      {"Answer: **C**", 'C'},
      {"Answer: (C)", 'C'},
      {"answer: (c)", 'C'},
      {"ANSWER: D", 'D'},
      {"Answer: $C$", 'C'},
      {"The correct answer is (B) Au.", 'B'},
      {"Answer: Because the field is B-like, it is zero.", 'B'},
      {"Answer: Because it is so.", 0},
      {"The answer is A, although B looks good.", 'A'},
      {"The answer is not obvious. Answer: D", 'D'},
      {"Answer: A. Wait, no. Answer: B", 'B'},
      {"The answer is C.\n\nAnswer: A", 'A'},
      {"A dog is a mammal and so it must be warm.", 0},
      {"I think option B is right.", 'B'},
      {"We choose D", 'D'},
      {"Reasoning about A and B.\n\n**D**", 'D'},
      {"Reasoning.\n\n(D) 12 m/s", 'D'},
      {"<think>Answer: A</think>Answer: B", 'B'},
      {"<answer>D</answer>", 'D'},
      {"It's not A because that makes no sense, so I think it's B", 'B'},
      {"I think it's not B", 0},
      {"Neither option fits.", 0},
      {"", 0},
  };
  for (const auto& [text, letter] : cases)
    EXPECT_EQ(extract_choice(text).value_or(0), letter) << text;
}

TEST(ExtractChoice, GoldenAnswers) {
  const std::vector<Json> table = golden("choice_answers.jsonl");
  ASSERT_GT(table.size(), 90u);
  for (const Json& row : table) {
    const std::string answer = row["answer"].get<std::string>();
    const auto found = extract_choice(answer);
    const std::string letter = row["letter"].is_null() ? "" : row["letter"].get<std::string>();
    EXPECT_EQ(found ? std::string(1, *found) : "", letter) << answer;
  }
}

TEST(ExtractChoice, ReferenceCases) {
  const auto path = shared_folder() / "fixtures/graders/mc_extract_cases.jsonl";
  CB_NEEDS_SHARED(path);
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const Json row = parse_json(line, "case");
    EXPECT_EQ(grade_choice(row["gold"].get<std::string>(), row["pred"].get<std::string>()).equal,
              row["equal"].get<bool>())
        << line;
  }
}

constexpr const char* kPrompt =
    "from typing import List\n\n\ndef add(a: int, b: int) -> int:\n    \"\"\"Adds.\"\"\"\n";
constexpr const char* kAdd = "def add(a, b):\n    return a + b";

TEST(ExtractCode, ReadsEveryFence) {
  const std::string code = kAdd;
  const std::vector<std::string> texts{
      "```python\n" + code + "\n```",
      "```\n" + code + "\n```",
      "```Python\n" + code + "\n```",
      "```py\n" + code + "\n```\n",
      "```python3\n" + code + "\n```",
      "~~~python\n" + code + "\n~~~",
      "Sure! Here's the code:\n\n```python\n" + code + "\n```\n\nIt adds the numbers.",
      "```python\n" + code,
      code + "\n```",
      code,
      code + "\n```\nThis adds two numbers.",
      "Here you go:\n" + code + "\nThis function adds them.",
      "```python\n" + code + "\n```\nUsage:\n```python\nprint(add(1, 2))\n```",
      "Run it as\n```bash\npip install x\n```\n```python\n" + code + "\n```",
      "```python\n" + code + "\n\nassert add(1, 2) == 3\nprint(add(1, 2))\n```",
      "```python\n" + code + "\n\nif __name__ == \"__main__\":\n    add(1, 2)\n```",
      "  ```python\n  def add(a, b):\n      return a + b\n  ```",
      "<think>def add(): pass</think>\n```python\n" + code + "\n```",
      "```python\n" + code +
          "\n```\nAlternatively:\n```python\ndef add(a, b):\n    return sum((a, b))\n```"};
  for (const std::string& text : texts) EXPECT_EQ(extract_code(text, kPrompt, "add"), code) << text;
}

TEST(ExtractCode, CarriageReturns) {
  EXPECT_EQ(
      extract_code("```python\r\ndef add(a, b):\r\n    return a + b\r\n```\r\n", kPrompt, "add"),
      kAdd);
}

TEST(ExtractCode, KeepsTheDefinitionsThatTheFunctionUses) {
  const std::string text =
      "```python\nimport math\nLIMIT = 5\nUNUSED = 6\n\n# helpers\ndef twice(x):\n    return 2 * x "
      "+ LIMIT\n\n"
      "def spare(x):\n    return UNUSED\n\n@cached\ndef add(a, b):\n    # sums\n    return "
      "twice(a) + b\n```";
  EXPECT_EQ(extract_code(text, kPrompt, "add"),
            "import math\nLIMIT = 5\ndef twice(x):\n    return 2 * x + LIMIT\n@cached\ndef add(a, "
            "b):\n    # sums\n"
            "    return twice(a) + b");
}

// Statements of the module that the function needs: without them a right program would fail.
TEST(ExtractCode, KeepsWhatPreparesTheFunction) {
  const std::string whole[] = {
      "T = {}\nfor i in range(9):\n    T[i] = i\ndef add(a, b):\n    return T[a] + T[b]",
      "L = [1]\nwhile len(L) < 9:\n    L.append(2)\ndef add(a, b):\n    return L[a] + L[b]",
      "A = B = 0\ndef add(a, b):\n    return a + b + B",
      "first, *rest = 0, 0\ndef add(a, b):\n    return a + b + rest[0]",
      "class C:\n    pass\nC.zero = 0\ndef add(a, b):\n    return a + b + C.zero",
      "def add(a, b):\n    return a + b + add.zero\nadd.zero = 0",
      "def wrap(f):\n    return f\ndef add(a, b):\n    return a + b\nadd = wrap(add)",
      "K = [0]\nK += [0]\nK.append(0)\nK[1] = 0\ndef add(a, b):\n    return a + b + K[1]",
      "import sys\nif sys.maxsize:\n    def plus(a, b):\n        return a + b\nelse:\n"
      "    plus = max\ndef add(a, b):\n    return plus(a, b)",
      "import sys\nsys.setrecursionlimit(10**6)\ndef add(a, b):\n    return a + b",
      "from decimal import *\ngetcontext().prec = 50\ndef add(a, b):\n    return Decimal(a) + b",
      "M = {}\ndef fill():\n    for i in range(9): M[i] = i\nfill()\ndef add(a, b):\n"
      "    return M[a] + b",
      "DEBUG = False\nif DEBUG:\n    K = 1\nelse:\n    K = 0\ndef add(a, b):\n    return a + b + "
      "K"};
  for (const std::string& code : whole) {
    EXPECT_EQ(extract_code("```python\n" + code + "\n```", kPrompt, "add"), code);
    EXPECT_EQ(extract_code(code, kPrompt, "add"), code);
  }
}

// The example's variables often have the names of the parameters.
TEST(ExtractCode, ParametersAreNoUseOfAVariable) {
  const std::string code =
      "K = 0\nL = []\nP = int\ndef add(a: P, b=K, *c, d: int = len(L), **e):\n    return a + b";
  EXPECT_EQ(
      extract_code("```python\n" + code +
                       "\na = open('input.txt')\nb = parse(a)\nb.append(c)\nc = d = e = 1 / 0\n"
                       "print(add(a, b))\n```",
                   kPrompt, "add"),
      code);
  const std::string line = "b = 1\ndef add(a, c): return max(b, a) + c";
  EXPECT_EQ(extract_code(line, kPrompt, "add"), line);
}

TEST(ExtractCode, DropsExamplesOfItsUse) {
  for (const char* after :
       {"a = int(input())\nb = 3\na += 1\nprint(add(a, b))",
        "import sys\nfor line in sys.stdin:\n    a = 3\n    print(add(a, 2))",
        "tests = [(1, 2)]\nfor a, b in tests:\n    total = add(a, b)\n    print(total)",
        "def main():\n    add(1, 2)\nmain()", "def ask():\n    return input()\na = ask()",
        "if __name__ == '__main__':\n    a = 5\n    add(a, 3)", "assert add(1, 2) == 3",
        "add = lambda a, b: 0", "import os\nos.system('clear')\nexit()"}) {
    const std::string text = "```python\n" + std::string(kAdd) + "\n\n" + after + "\n```";
    const std::string code = extract_code(text, kPrompt, "add");
    for (const char* dropped : {"add(", "input", "stdin", "exit", "main", "lambda", "clear"})
      EXPECT_EQ(code.find(dropped, std::string_view(kAdd).size()), std::string::npos) << code;
    EXPECT_NE(code.find(kAdd), std::string::npos) << code;
  }
}

TEST(ExtractCode, FencesInTheDocstringOfABareProgram) {
  const std::string code =
      "def add(a, b):\n    \"\"\"\n    ```python\n    add(1, 2)\n    ```\n    \"\"\"\n    return a "
      "+ b";
  EXPECT_EQ(extract_code(code + "\n", kPrompt, "add"), code);
}

// Plans often come first, with the function as a stub.
TEST(ExtractCode, TakesTheBlockWithTheWholeFunction) {
  for (const char* body : {"pass", "..."})
    EXPECT_EQ(extract_code("```python\ndef add(a, b):\n    " + std::string(body) +
                               "  # TODO\n```\nFilled in:\n```python\n" + kAdd + "\n```",
                           kPrompt, "add"),
              kAdd);
}

TEST(ExtractCode, OfTwoDefinitionsTheFirstThatReturns) {
  const std::string stub = "def add(a, b):\n    \"\"\"Adds.\"\"\"";
  EXPECT_EQ(extract_code("```python\n" + stub + "\n\n" + kAdd + "\n```", kPrompt, "add"), kAdd);
  EXPECT_EQ(
      extract_code("```python\n" + std::string(kAdd) + "\n\ndef add(a, b):\n    return 0\n```",
                   kPrompt, "add"),
      kAdd);
}

TEST(ExtractCode, JoinsHelpersFromOtherBlocks) {
  const std::string text =
      "First a helper:\n```python\ndef twice(x):\n    return 2 * x\n```\nThen:\n```python\ndef "
      "add(a, b):\n"
      "    return twice(a) + b\n```";
  EXPECT_EQ(extract_code(text, kPrompt, "add"),
            "def twice(x):\n    return 2 * x\ndef add(a, b):\n    return twice(a) + b");
}

TEST(ExtractCode, AppendsABodyToThePrompt) {
  const std::string prompt = kPrompt;
  EXPECT_EQ(extract_code("    return a + b\n", prompt, "add"), prompt + "    return a + b");
  EXPECT_EQ(extract_code("return a + b", prompt, "add"), prompt + "    return a + b");
  EXPECT_EQ(extract_code("```python\n    return a + b\n```", prompt, "add"),
            prompt + "    return a + b");
  EXPECT_EQ(extract_code("    c = a\n    return c + b\n\nprint(add(1, 2))", prompt, "add"),
            prompt + "    c = a\n    return c + b");
  EXPECT_EQ(extract_code("if a:\n    return b\nreturn a", prompt, "add"),
            prompt + "    if a:\n        return b\n    return a");
}

TEST(ExtractCode, StringsAndBracketsMayContainAnything) {
  const std::string code =
      "def add(a, b):\n    \"\"\"Say: the answer\n\nis not here ``\n    \"\"\"\n    text = 'def "
      "other(x): return'\n"
      "    return max(\n        a,\n  b,\n    )";
  EXPECT_EQ(extract_code("```python\n" + code + "\n```", kPrompt, "add"), code);
}

TEST(ExtractCode, EmptyIfThereIsNoCode) {
  EXPECT_EQ(extract_code("", kPrompt, "add"), "");
  EXPECT_EQ(extract_code("I am sorry, I cannot do that for you.", kPrompt, "add"), "");
}

TEST(ExtractCode, GoldenAnswers) {
  const std::vector<Json> table = golden("code_answers.jsonl");
  ASSERT_GT(table.size(), 50u);
  const std::string prompt = std::string(kPrompt).substr(0, std::string(kPrompt).find("Adds.")) +
                             "Adds.\n    >>> add(1, 2)\n    3\n    \"\"\"\n";
  for (const Json& row : table)
    EXPECT_EQ(extract_code(row["answer"].get<std::string>(), prompt, "add"),
              row["extracted"].get<std::string>())
        << row["about"];
}

TEST(ExtractCode, ReferenceCases) {
  const auto path = shared_folder() / "fixtures/graders/code_extract_cases.jsonl";
  CB_NEEDS_SHARED(path);
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const Json row = parse_json(line, "case");
    const std::string entry =
        row["entry_point"].is_null() ? "" : row["entry_point"].get<std::string>();
    EXPECT_EQ(extract_code(row["input"].get<std::string>(), "", entry),
              row["expected"].get<std::string>());
  }
}

}  // namespace
}  // namespace counterbeam
