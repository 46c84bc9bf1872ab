// Tests grade --task code: verdicts are in the order of the lines, errors name the line.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "eval/sandbox_programs.h"
#include "support/test_size.h"

namespace counterbeam {
namespace {

struct Outcome {
  std::vector<Json> lines;
  std::string errors;
  int code = 0;
};

// `before` is shell code, such as a limit.
Outcome grade_code(const std::vector<Json>& rows, const std::string& before = "") {
  const std::string stem = fmt::format("{}grade_code_{}", ::testing::TempDir(), getpid());
  std::string input;
  for (const Json& row : rows) input += to_line(row) + "\n";
  write_file(stem + ".in", input);
  const std::string command =
      fmt::format("{} '{}' grade --task code --jsonl < '{}.in' > '{}.out' 2> '{}.err'", before,
                  COUNTERBEAM_BINARY, stem, stem, stem);
  Outcome outcome;
  outcome.code = WEXITSTATUS(std::system(command.c_str()));
  outcome.errors = read_file(stem + ".err");
  std::istringstream lines(read_file(stem + ".out"));
  for (std::string line; std::getline(lines, line);)
    outcome.lines.push_back(parse_json(line, "output"));
  for (const char* ending : {".in", ".out", ".err"}) std::filesystem::remove(stem + ending);
  return outcome;
}

Json row(const std::string& answer, const std::string& test = "    assert candidate(3) == 9\n") {
  return {{"prompt", "def square(n):\n    \"\"\" n times n \"\"\"\n"},
          {"test", "def check(candidate):\n" + test},
          {"entry_point", "square"},
          {"pred", answer}};
}

TEST(GradeCode, VerdictsAreInTheOrderOfTheLines) {
  CB_NEEDS_SANDBOX();
  const Outcome outcome = grade_code({
      row("```python\nimport time\ndef square(n):\n    time.sleep(0.3)\n    return n * n\n```"),
      row("```python\ndef square(n):\n    return n\n```"),
      row("    return n * n\n"),
      row("```python\nimport sys\ndef square(n):\n    sys.exit(0)\n```"),
  });
  EXPECT_EQ(outcome.code, 0) << outcome.errors;
  std::vector<std::string> states;
  for (const Json& line : outcome.lines) {
    states.push_back(line["state"]);
    EXPECT_EQ(line["equal"], line["state"] == "pass");
  }
  EXPECT_EQ(states, (std::vector<std::string>{"pass", "fail", "pass", "error"}));
}

TEST(GradeCode, ATestThatCannotRunIsAnErrorThatNamesItsLine) {
  CB_NEEDS_SANDBOX();
  const std::string fine = "def square(n):\n    return n * n\n";
  const Outcome outcome = grade_code({row(fine), row(fine, "    assert (\n"), row(fine)});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.lines.size(), 1u);
  EXPECT_NE(outcome.errors.find("line 2 of standard input: test: SyntaxError"), std::string::npos)
      << outcome.errors;
}

// Limits below what programs get would fail right ones: they are an error, even for this one.
TEST(GradeCode, LimitsOfTheShellAreNoVerdict) {
  CB_NEEDS_SANDBOX();
  const std::vector<Json> right = {row("    return n * n\n")};
  const Outcome descriptors = grade_code(right, "ulimit -n 64;");
  EXPECT_EQ(descriptors.code, 1);
  EXPECT_TRUE(descriptors.lines.empty());
  EXPECT_NE(descriptors.errors.find("(ulimit -n)"), std::string::npos) << descriptors.errors;
  EXPECT_EQ(descriptors.errors.find("bubblewrap"), std::string::npos) << descriptors.errors;
  std::vector<std::pair<std::string, std::string>> limits = {
      {"ulimit -t 10;", "(ulimit -t)"},
      {"ulimit -f 200;", "(ulimit -f)"},
      {"{ ulimit -p 50 || ulimit -u 50; } 2> /dev/null;", "(ulimit -u"}};
  if (!testing::kSanitized) {  // a sanitizer reserves terabytes of addresses
    limits.emplace_back("ulimit -v 900000;", "(ulimit -v)");
    limits.emplace_back("ulimit -d 900000;", "(ulimit -d)");
  }
  for (const auto& [limit, name] : limits) {
    const Outcome outcome = grade_code(right, limit);
    EXPECT_EQ(outcome.code, 1) << limit;
    EXPECT_TRUE(outcome.lines.empty()) << limit;
    EXPECT_NE(outcome.errors.find(name), std::string::npos) << outcome.errors;
  }
}

}  // namespace
}  // namespace counterbeam
