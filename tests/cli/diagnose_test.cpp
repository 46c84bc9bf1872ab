// Tests the command diagnose on the shipped model, with few and short answers.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "support/run_command.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
using testing::CommandResult;
using testing::run_counterbeam;
using testing::TemporaryFolder;

CommandResult diagnose(const fs::path& out, const std::string& more) {
  return run_counterbeam(
      fmt::format("diagnose --device cpu --seed 3 --out '{}' {}", out.string(), more));
}

constexpr const char* kSmall =
    "--task tiny-math --limit 3 --samples 3 --block 8 --max-tokens 24 --rollouts 2 --siblings 2 "
    "--rollout-problems 2 --contexts reasoning,neutral ";

Json diagnosed(const fs::path& out, const std::string& more) {
  const CommandResult run = diagnose(out, more + " --json");
  EXPECT_EQ(run.code, 0) << run.err;
  return parse_json(run.out, "standard output");
}

TEST(Diagnose, AnswersThatDoNotFitIntoTheCacheAreFaultsAndNotWrong) {
  const TemporaryFolder folder;
  const CommandResult small =
      diagnose(folder.path() / "run",
               "--task tiny-math --limit 2 --samples 4 --rollouts 0 --cache-memory 600K");
  EXPECT_EQ(small.code, 1) << small.out;
  EXPECT_NE(small.err.find("problem tiny-math/0: an answer does not fit"), std::string::npos)
      << small.err;
  EXPECT_NE(small.err.find("--cache-memory"), std::string::npos) << small.err;
}

TEST(Diagnose, WritesFiguresOfEveryPair) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "new" / "folder";
  folder.write("new/folder/.counterbeam-999999999-1.part", "of a killed run");
  const Json json = diagnosed(out, kSmall);
  EXPECT_FALSE(fs::exists(out / ".counterbeam-999999999-1.part"));
  EXPECT_EQ(read_json_file(out / "diagnose.json"), json);
  EXPECT_NE(read_file(out / "diagnose.html").find("tiny-math"), std::string::npos);
  EXPECT_EQ(json["run"]["seed"], 3);
  EXPECT_EQ(json["run"]["settings"]["samples"], 3);
  ASSERT_EQ(json["tasks"].size(), 1u);
  const Json& task = json["tasks"][0];
  EXPECT_EQ(task["questions"], 3);
  EXPECT_TRUE(task["failures"].empty());
  ASSERT_EQ(task["pairs"].size(), 2u);
  for (const Json& pair : task["pairs"]) {
    EXPECT_EQ(pair["scores"].size(), 2u);
    EXPECT_EQ(pair["scores"][0]["best_of"].size(), 3u);
    EXPECT_NEAR(pair["scores"][0]["best_of"][0].get<double>(),
                task["accuracy"]["mean"].get<double>(), 1e-12);
    // The mean reward is the difference of the divergences, on the same tokens.
    EXPECT_NEAR(pair["reward"]["mean"]["mean"].get<double>(),
                pair["kl_negative"]["per_token"]["mean"].get<double>() -
                    pair["kl_positive"]["per_token"]["mean"].get<double>(),
                1e-9);
    EXPECT_GE(pair["reward"]["r_max"], pair["reward"]["r_999"]);
    ASSERT_FALSE(pair["future"].empty());
    EXPECT_EQ(pair["future"][0]["place"], "first-block");
    EXPECT_EQ(pair["future"][0]["tokens"], 8);
    EXPECT_EQ(pair["verdict"], "unclear");  // three questions prove nothing
  }
  EXPECT_EQ(task["pairs"][0]["contexts"], "reasoning");
  EXPECT_EQ(task["pairs"][1]["contexts"], "neutral");
}

TEST(Diagnose, DoesNotDependOnConcurrencyNorOnOtherPairs) {
  const TemporaryFolder folder;
  const Json one = diagnosed(folder.path() / "a", std::string(kSmall) + "--concurrency 1");
  const Json many =
      diagnosed(folder.path() / "b", std::string(kSmall) + "--concurrency 8 --threads 1");
  EXPECT_EQ(one["tasks"], many["tasks"]);
  const Json alone = diagnosed(folder.path() / "c",
                               "--task tiny-math --limit 3 --samples 3 --block 8 --max-tokens 24 "
                               "--rollouts 2 --siblings 2 --rollout-problems 2 --contexts neutral");
  EXPECT_EQ(alone["tasks"][0]["pairs"][0], one["tasks"][0]["pairs"][1]);
}

TEST(Diagnose, TakesPairsOfAFileAndTasksOfAUser) {
  const TemporaryFolder folder;
  write_file(folder.path() / "pairs.json",
             R"({"mine": {"positive": "Right:", "negative": "Wrong:"},
                 "other": {"positive": "Good:", "negative": "Bad:"}})");
  write_file(folder.path() / "own.jsonl",
             "{\"id\": \"x\", \"question\": \"Compute 1 + 2.\", \"answer\": \"3\"}\n");
  const std::string data =
      fmt::format("--task '{}' --grader math --samples 2 --max-tokens 8 --rollouts 0 --steer 1 ",
                  (folder.path() / "own.jsonl").string());
  const std::string file = fmt::format("@{}", (folder.path() / "pairs.json").string());
  const Json all = diagnosed(folder.path() / "all", data + "--contexts " + file);
  ASSERT_EQ(all["tasks"][0]["pairs"].size(), 2u);
  EXPECT_EQ(all["tasks"][0]["pairs"][1]["contexts"], "other");
  EXPECT_EQ(all["tasks"][0]["pairs"][1]["positive"], "Good:");
  EXPECT_TRUE(all["tasks"][0]["pairs"][1]["future"].empty());
  EXPECT_EQ(all["tasks"][0]["pairs"][1]["scores"][0]["steer"], 1.0);
  const Json named =
      diagnosed(folder.path() / "named", data + "--contexts " + file + ",mine,reasoning");
  EXPECT_EQ(named["tasks"][0]["pairs"].size(), 2u);
  EXPECT_EQ(named["tasks"][0]["pairs"][0]["contexts"], "mine");
}

TEST(Diagnose, FailuresAreCountedAndNeverTurnedIntoNumbers) {
  const TemporaryFolder folder;
  std::string longer;
  for (int i = 0; i < 6000; ++i) longer += "1 + ";
  const std::string good = R"({"id": "good", "question": "Compute 1 + 2.", "answer": "3"})";
  const std::string bad =
      fmt::format(R"({{"id": "long", "question": "Compute {} 1.", "answer": "3"}})", longer);
  write_file(folder.path() / "own.jsonl", good + "\n" + bad + "\n");
  write_file(folder.path() / "first.jsonl", bad + "\n" + good + "\n");
  const auto arguments = [&](const char* file) {
    return fmt::format("--task '{}' --grader math --samples 2 --max-tokens 8 --rollouts 0 ",
                       (folder.path() / file).string());
  };
  const CommandResult run = diagnose(folder.path() / "a", arguments("own.jsonl") + "--json");
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("1 question could not be run or judged"), std::string::npos) << run.err;
  const Json task = parse_json(run.out, "standard output")["tasks"][0];
  EXPECT_EQ(task["questions"], 1);
  ASSERT_EQ(task["failures"].size(), 1u);
  EXPECT_EQ(task["failures"][0]["id"], "long");
  EXPECT_NE(task["failures"][0]["cause"].get<std::string>().find("tokens"), std::string::npos);
  EXPECT_EQ(diagnose(folder.path() / "a", arguments("own.jsonl") + "--allow-failures").code, 0);
  const CommandResult first = diagnose(folder.path() / "b", arguments("first.jsonl"));
  EXPECT_EQ(first.code, 2);
  EXPECT_NE(first.err.find("problem long"), std::string::npos) << first.err;
  EXPECT_FALSE(fs::exists(folder.path() / "b" / "diagnose.json"));
}

TEST(Diagnose, BadInputIsNamed) {
  const TemporaryFolder folder;
  const struct {
    const char *arguments, *message;
  } cases[] = {
      {"", "--task"},
      {"--task tiny-maths", "tiny-math"},
      {"--task tiny-math --contexts reasonin", "\"reasonin\" is not known"},
      {"--task tiny-math --contexts none", "none has no contexts"},
      {"--task tiny-math --contexts neutral,neutral", "\"neutral\" is given twice"},
      {"--task tiny-math --contexts @missing.json", "missing.json"},
      {"--task tiny-math,tiny-math", "tiny-math is given twice"},
      {"--task tiny-math --samples 1", "--samples: 1 is out of range; allowed: 2 to 1000"},
      {"--task tiny-math --rollouts 1", "--rollouts: one rollout gives no estimate of the noise"},
      {"--task tiny-math --steer 0.5,x", "--steer: \"x\" is not a number"},
      {"--task tiny-math --steer 0.5,0.5", "--steer: 0.5 is given twice"},
      {"--task tiny-math --steer=-1", "--steer: -1 is out of range"},
  };
  for (const auto& [arguments, message] : cases) {
    const CommandResult run = diagnose(folder.path() / "out", arguments);
    EXPECT_EQ(run.code, 2) << arguments;
    EXPECT_NE(run.err.find(message), std::string::npos) << arguments << ": " << run.err;
    EXPECT_EQ(run.out, "") << arguments;
  }
}

TEST(Diagnose, CtrlCEndsIt) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    const std::string command = fmt::format(
        "exec '{}' diagnose --device cpu --task tiny-math --samples 64 --out '{}' >/dev/null "
        "2>'{}' </dev/null",
        COUNTERBEAM_BINARY, (folder.path() / "out").string(), (folder.path() / "err").string());
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  while (!fs::exists(folder.path() / "out"))
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));  // load, and begin
  kill(child, SIGINT);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_NE(read_file(folder.path() / "err").find("nothing was written"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder.path() / "out" / "diagnose.json"));
}

}  // namespace
}  // namespace counterbeam
