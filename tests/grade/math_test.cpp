// Tests the grader on our own table of pairs, on the reference cases outside of the repository, and
// on MATH500.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "base/file.h"
#include "base/json.h"
#include "grade/grade.h"
#include "support/shared_folder.h"

namespace counterbeam {
namespace {

using testing::shared_folder;

struct Pair {
  bool equal;
  std::string gold, pred;
  int line;
};

// Lines "=<tab>gold<tab>pred" or "!<tab>gold<tab>pred"; # comments.
std::vector<Pair> table() {
  std::ifstream in(std::filesystem::path(COUNTERBEAM_SOURCE_DIR) /
                   "tests/grade/golden/math_pairs.tsv");
  std::vector<Pair> pairs;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t tab = line.find('\t', 2);
    pairs.push_back({line[0] == '=', line.substr(2, tab - 2), line.substr(tab + 1), number});
  }
  return pairs;
}

std::vector<Json> rows(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<Json> out;
  for (std::string line; std::getline(in, line);) out.push_back(parse_json(line, path.string()));
  return out;
}

std::string text(const Json& row, const char* field) {
  return row.contains(field) && row[field].is_string() ? row[field].get<std::string>() : "";
}

TEST(GradeMath, AgreesWithOurTable) {
  const auto pairs = table();
  ASSERT_GT(pairs.size(), 1250u);
  for (const Pair& p : pairs)
    EXPECT_EQ(grade_math(p.gold, p.pred).equal, p.equal)
        << "math_pairs.tsv:" << p.line << ": " << p.gold << " | " << p.pred;
}

// Equality does not depend on which side is the reference, except for rows where one side is prose.
TEST(GradeMath, IsSymmetricOnBareAnswers) {
  for (const Pair& p : table())
    EXPECT_EQ(grade_math(p.pred, p.gold).equal, p.equal)
        << "math_pairs.tsv:" << p.line << ": " << p.pred << " | " << p.gold;
}

TEST(GradeMath, EveryAnswerEqualsItself) {
  for (const Pair& p : table()) EXPECT_TRUE(grade_math(p.gold, p.gold).equal) << p.gold;
}

// Expressions with kinks are equal only if they are for every choice of signs, whatever the
// letters.
TEST(GradeMath, SignsAreTriedForEveryPairOfLetters) {
  const std::string letters = "abcmnpqrstuvwxyzABXY";
  for (const char a : letters)
    for (const char b : letters) {
      if (b <= a) continue;
      const std::string x(1, a), y(1, b);
      EXPECT_FALSE(grade_math("|" + x + "|+|" + y + "|", "|" + x + "+" + y + "|").equal) << x << y;
    }
  EXPECT_TRUE(grade_math("|x||y|", "|xy|").equal);
}

TEST(GradeMath, ReferenceCases) {
  const auto path = shared_folder() / "fixtures/graders/math_equiv_cases.jsonl";
  CB_NEEDS_SHARED(path);
  int right = 0, all = 0;
  for (const Json& row : rows(path)) {
    if (row.contains("note")) continue;
    ++all;
    right += grade_math(text(row, "gold"), text(row, "pred")).equal == row["equal"].get<bool>();
  }
  EXPECT_GE(right, all * 0.97) << right << " of " << all;
}

TEST(GradeMath, Probe) {
  const auto path = shared_folder() / "fixtures/graders/grader_probe.jsonl";
  CB_NEEDS_SHARED(path);
  int missed = 0, positives = 0;
  for (const Json& row : rows(path)) {
    const bool equal = grade_math(text(row, "gold"), text(row, "pred")).equal;
    if (row["equal"].get<bool>())
      ++positives, missed += !equal;
    else
      EXPECT_FALSE(equal) << text(row, "gold") << " | " << text(row, "pred");
  }
  EXPECT_LE(missed, positives * 0.05) << missed << " of " << positives;
}

// Compares the strict verdict with that of prm800k's code on the same pairs.
TEST(GradeMath, StrictAgreesWithPrm800k) {
  const auto folder = shared_folder() / "fixtures/graders";
  CB_NEEDS_SHARED(folder);
  int agree = 0, all = 0;
  for (const Json& row : rows(folder / "grader_probe.jsonl")) {
    ++all;
    agree += grade_math(text(row, "gold"), text(row, "pred")).strict ==
             (row["verdicts"]["prm800k"].get<bool>());
  }
  EXPECT_GE(agree, all - 3) << agree << " of " << all;
}

TEST(GradeMath, Math500) {
  const auto path = shared_folder() / "data/math500/test.jsonl";
  CB_NEEDS_SHARED(path);
  int count = 0;
  for (const Json& row : rows(path)) {
    const std::string answer = text(row, "answer");
    for (const Verdict& v :
         {grade_math(answer, answer), grade_math(answer, text(row, "solution"))}) {
      EXPECT_TRUE(v.equal) << answer << " | " << v.extracted;
      EXPECT_TRUE(v.strict) << answer << " | " << v.extracted;
    }
    ++count;
  }
  EXPECT_EQ(count, 500);
}

// Answers designed to be expensive: each is graded within the time limit.
TEST(GradeMath, TimeIsBounded) {
  std::string deep(3000, '('), tower = "9", roots = "x", sums = "x", commas = "1";
  for (int i = 0; i < 300; ++i) tower += "^{9";
  for (int i = 0; i < 50; ++i) roots = "\\sqrt{" + roots + "+1}";
  for (int i = 0; i < 200; ++i) sums += "+x^{" + std::to_string(i) + "}";
  for (int i = 2; i < 500; ++i) commas += "," + std::to_string(i);
  const std::string hard[] = {deep,
                              tower,
                              roots,
                              "(" + sums + ")^{50}",
                              commas,
                              "(a+b+c+d+f+g+h)^{60}",
                              "10^{10^{10}}",
                              "99999999!",
                              "\\binom{99999999}{5}",
                              "\\sum_{k=1}^{99999999} k^k",
                              "\\frac{1}{1e-4000}",
                              "1e4000^{1e4000}",
                              "\\sin(10^{50})",
                              std::string(5000, '9'),
                              std::string(100000, '$'),
                              std::string(50000, '{'),
                              "\\prod_{k=1}^{2000} \\sum_{j=1}^{2000} \\sin(k j)",
                              "e^{e^{e^{e^{e}}}}",
                              "\\log_{1} 5",
                              "0^0",
                              "0^{-1}",
                              "\\sqrt[0]{2}",
                              "\\begin{pmatrix}" + sums,
                              "x^{-\\infty}"};
  for (const std::string& a : hard)
    for (const std::string& b : hard) {
      const auto start = std::chrono::steady_clock::now();
      grade_math(a, b);
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      EXPECT_LT(taken.count(), 0.5) << a.substr(0, 60) << " | " << b.substr(0, 60);
    }
}

TEST(GradeMath, NoAnswerIsFoundInAnOpenBox) {
  const Verdict v = grade_math("2", "I could not finish, so \\boxed{2");
  EXPECT_FALSE(v.equal);
  EXPECT_FALSE(v.strict);
  EXPECT_EQ(v.extracted, "");
  EXPECT_FALSE(grade_math("2", "").equal);
  EXPECT_FALSE(grade_math("2", "<think> it is \\boxed{2}").equal);
}

}  // namespace
}  // namespace counterbeam
