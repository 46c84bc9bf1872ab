// Methods and contexts of a user's own on the command line: quoting, files of methods and of pairs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "eval/samples.h"
#include "support/run_command.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
using testing::CommandResult;
using ::testing::HasSubstr;
using testing::run_counterbeam;
using testing::TemporaryFolder;

constexpr const char* kOwn =
    R"(cbs:positive="Excellent, step by step:":negative="Wrong reasoning:")";
constexpr const char* kSmall = ":beams=4:prune=2:block=8:max-tokens=16";
constexpr const char* kPairs =
    R"({"mine": {"positive": "Excellent, step by step:", "negative": "Wrong reasoning:"}})";
constexpr const char* kTwoPairs =
    R"({"mine": {"positive": "Good:", "negative": "Bad:"},
        "other": {"positive": "Fine:", "negative": "Poor:"}})";

Json ask(const std::string& arguments) {
  const CommandResult run =
      run_counterbeam("ask --device cpu --json 'Compute 12 + 3 * 7.' " + arguments);
  EXPECT_EQ(run.code, 0) << run.err;
  return run.code == 0 ? parse_json(run.out, "output") : Json::object();
}

std::string error_of(const std::string& arguments) {
  const CommandResult run = run_counterbeam(arguments + " --device cpu");
  EXPECT_EQ(run.code, 2) << run.out << run.err;
  return run.err;
}

CommandResult eval(const fs::path& out, const std::string& arguments) {
  return run_counterbeam(
      fmt::format("eval --device cpu --deterministic --task tiny-math --limit 2 --out '{}' {}",
                  out.string(), arguments));
}

TEST(OwnContexts, QuotedTextsInAMethodString) {
  const Json answer = ask(fmt::format("--method '{}{}'", kOwn, kSmall));
  EXPECT_EQ(answer["settings"]["positive"], "Excellent, step by step:");
  EXPECT_EQ(answer["settings"]["negative"], "Wrong reasoning:");
  const TemporaryFolder folder;
  const CommandResult run =
      eval(folder.path() / "out", fmt::format("--methods 'beam{0},{1}{0}'", kSmall, kOwn));
  ASSERT_EQ(run.code, 0) << run.err;
  const auto samples = read_samples(folder.path() / "out" / "samples.jsonl");
  ASSERT_EQ(samples.size(), 4u);
  EXPECT_EQ(samples[1].method, std::string(kOwn) + kSmall);
  EXPECT_GT(samples[1].scored_tokens, 0);
}

TEST(OwnContexts, AFileOfPairsInAsk) {
  const TemporaryFolder folder;
  const std::string one = folder.write("one.json", kPairs),
                    two = folder.write("two.json", kTwoPairs);
  const std::string small = "--beams 4 --prune 2 --block 8 --max-tokens 16 ";
  const Json quoted = ask(fmt::format("--method '{}{}'", kOwn, kSmall));
  const Json only = ask(small + "--contexts @" + one);
  EXPECT_EQ(only["settings"]["contexts"], "mine");
  EXPECT_EQ(only["score"], quoted["score"]);
  EXPECT_EQ(ask(small + "--contexts @" + two + " --contexts other")["settings"]["positive"],
            "Fine:");
  EXPECT_EQ(ask(small + "--method cbs:contexts=mine --contexts @" + two)["settings"]["positive"],
            "Good:");
  EXPECT_EQ(ask(small + "--contexts detail --contexts @" + two)["settings"]["contexts"], "detail");
  EXPECT_THAT(error_of("ask x --contexts @" + two),
              HasSubstr("name one too, as in --contexts mine: mine, other"));
  EXPECT_THAT(error_of("ask x --method beam --contexts @" + two),
              HasSubstr("beam does not use it"));
  EXPECT_THAT(error_of("ask x --contexts mine --contexts other"), HasSubstr("named twice"));
  EXPECT_THAT(error_of("ask x --contexts @no-such.json"), HasSubstr("no-such.json"));
  EXPECT_THAT(error_of("ask x --contexts mime --contexts @" + two),
              HasSubstr("did you mean mine?"));
}

TEST(OwnContexts, AFileOfPairsInScore) {
  const TemporaryFolder folder;
  const std::string one = folder.write("one.json", kPairs);
  const auto score = [](const std::string& arguments) {
    const CommandResult run = run_counterbeam(
        "score --device cpu --json --question 'Compute 1 + 1.' --answer 2 " + arguments);
    EXPECT_EQ(run.code, 0) << run.err;
    return parse_json(run.out, "output")["score"].get<double>();
  };
  const double expected =
      score("--positive 'Excellent, step by step:' --negative 'Wrong reasoning:'");
  EXPECT_EQ(score("--contexts @" + one), expected);
  EXPECT_EQ(score("--contexts @" + one + " --contexts mine"), expected);
  EXPECT_NE(score("--contexts @" + one + " --contexts reasoning"), expected);
  EXPECT_EQ(score(""), score("--contexts reasoning --steer 0.25"));
}

TEST(OwnContexts, FilesOfMethodsAndPairsInEval) {
  const TemporaryFolder folder;
  const std::string pairs = folder.write("pairs.json", kPairs);
  const std::string methods =
      folder.write("methods.txt", fmt::format("# two\nbeam{0}\n\ncbs:contexts=mine{0}\n", kSmall));
  const CommandResult run =
      eval(folder.path() / "out", fmt::format("--methods '@{}' --contexts '@{}'", methods, pairs));
  ASSERT_EQ(run.code, 0) << run.err;
  const auto samples = read_samples(folder.path() / "out" / "samples.jsonl");
  ASSERT_EQ(samples.size(), 4u);
  EXPECT_EQ(samples[1].method, std::string("cbs:contexts=mine") + kSmall);

  const std::string out =
      " --task tiny-math --limit 1 --out '" + (folder.path() / "no").string() + "'";
  EXPECT_THAT(error_of("eval --methods cbs:contexts=mine" + out),
              HasSubstr("\"mine\" is not known"));
  EXPECT_THAT(error_of("eval --methods cbs --contexts mine" + out),
              HasSubstr("a method names its pair itself, as in cbs:contexts=mine"));
  const std::string bad = folder.write("bad.txt", "beam\ncbs:stear=1\n");
  EXPECT_THAT(error_of("eval --methods @" + bad + out),
              HasSubstr("bad.txt: line 2: cbs has no setting"));
}

}  // namespace
}  // namespace counterbeam
