// Tests `contexts list` and `contexts search` on the shipped model: the folder of a search, that it
// is the same after an interruption, and what is refused.
#include "search/contexts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "base/json.h"
#include "eval/samples.h"
#include "support/run_command.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
using testing::CommandResult;
using testing::run_command;
using testing::run_counterbeam;
using testing::TemporaryFolder;

constexpr const char* kSmall =
    "--device cpu --seed 3 --deterministic --task tiny-choice --dev 8 --confirm 7 "
    "--pairs reasoning,completeness,detail --method cbs:beams=4:prune=2:block=16:steer=0.7 "
    "--screen best-of-n:beams=3:steer=0.7 --max-tokens 48";

std::string search_arguments(const fs::path& out, const std::string& more = "") {
  return fmt::format("contexts search {} --out '{}' {}", kSmall, out.string(), more);
}

std::set<int> questions_of(const fs::path& folder) {
  std::set<int> questions;
  for (const Sample& sample : read_samples(folder / "samples.jsonl"))
    questions.insert(sample.question);
  return questions;
}

TEST(ContextsList, PrintsEveryPair) {
  const CommandResult text = run_counterbeam("contexts list");
  ASSERT_EQ(text.code, 0) << text.err;
  const CommandResult json = run_counterbeam("contexts list --json");
  const Json pairs = parse_json(json.out, "output")["pairs"];
  ASSERT_EQ(pairs.size(), named_contexts().size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const ContextPair& pair = named_contexts()[i];
    EXPECT_EQ(pairs[i]["name"], pair.name);
    EXPECT_EQ(pairs[i]["negative"], pair.negative);
    EXPECT_NE(text.out.find("  + " + pair.positive + "\n"), std::string::npos) << pair.name;
  }
  EXPECT_NE(text.out.find("reasoning (default)\n"), std::string::npos);
  EXPECT_NE(text.out.find("neutral (control)\n"), std::string::npos);
  const TemporaryFolder folder;
  const fs::path file = folder.write("p.json", R"({"m": {"positive": "A:", "negative": "B:"}})");
  EXPECT_NE(run_counterbeam("contexts list --contexts @" + file.string()).out.find("m\n  + A:"),
            std::string::npos);
}

TEST(ContextsSearch, LeavesAFolderThatSaysEverything) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  folder.write("out/.counterbeam-999999999-1.part", "of a killed search");
  folder.write("out/mine.part", "");
  const CommandResult run = run_counterbeam(search_arguments(out));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_FALSE(fs::exists(out / ".counterbeam-999999999-1.part"));
  EXPECT_TRUE(fs::exists(out / "mine.part"));
  const Json search = read_json_file(out / "search.json");
  EXPECT_EQ(search["plan"]["candidates"].size(), 3u);
  ASSERT_EQ(search["rounds"].size(), 2u);  // 3, 2, 1
  EXPECT_EQ(search["rounds"][0]["standings"].size(), 5u);
  EXPECT_EQ(search["rounds"][1]["standings"].size(), 4u);
  EXPECT_EQ(search["rounds"][1]["so_far"], 8);
  EXPECT_EQ(search["confirmation"]["problems"], 7);
  // No problem that chose is among those that confirm.
  std::set<int> dev = questions_of(out / "rounds/1");
  dev.merge(questions_of(out / "rounds/2"));
  EXPECT_EQ(dev.size(), 8u);
  const std::set<int> confirm = questions_of(out / "confirm");
  EXPECT_EQ(confirm.size(), 7u);
  for (const int question : confirm) EXPECT_FALSE(dev.contains(question));
  for (const char* part : {"rounds/1", "rounds/2", "confirm"})
    EXPECT_TRUE(fs::exists(out / part / "report.html")) << part;
  const CommandResult merged = run_counterbeam(fmt::format(
      "merge '{}' --out '{}'", (out / "rounds/2").string(), (folder.path() / "merged").string()));
  EXPECT_EQ(merged.code, 0) << merged.err;
  // The sentence, the file of the winner and the exit code go together.
  const std::string outcome = search["outcome"];
  EXPECT_NE(run.out.find(outcome), std::string::npos) << run.out;
  EXPECT_EQ(outcome.starts_with("winner: "), !search["winner"].is_null());
  EXPECT_EQ(fs::exists(out / "winner.json"), !search["winner"].is_null());
  // Every pair costs the same in a round of best-of-n.
  const Json cost = search["rounds"][0]["cost"];
  ASSERT_EQ(cost.size(), 5u);
  for (std::size_t i = 1; i < 3; ++i) EXPECT_EQ(cost[i]["scored_tokens"], cost[0]["scored_tokens"]);

  const CommandResult again = run_counterbeam(search_arguments(out));
  EXPECT_EQ(again.code, 2);
  EXPECT_NE(again.err.find("has a search already; add --resume"), std::string::npos) << again.err;
  const CommandResult other = run_counterbeam(search_arguments(out, "--resume --samples 2"));
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("\n  samples was 1, and now is 2"), std::string::npos) << other.err;
  const CommandResult json = run_counterbeam(search_arguments(out, "--resume --json"));
  ASSERT_EQ(json.code, 0) << json.err;
  EXPECT_EQ(parse_json(json.out, "output"), search);
}

// What a stopped search leaves is a beginning of what a finished one has.
TEST(ContextsSearch, AResumedSearchIsTheSame) {
  const TemporaryFolder folder;
  const fs::path whole = folder.path() / "whole", part = folder.path() / "part";
  ASSERT_EQ(run_counterbeam(search_arguments(whole)).code, 0);
  fs::create_directories(part / "rounds");
  fs::copy(whole / "rounds/1", part / "rounds/1", fs::copy_options::recursive);
  const std::string samples = read_file(whole / "rounds/1/samples.jsonl");
  write_file(part / "rounds/1/samples.jsonl", samples.substr(0, samples.size() / 2));
  Json plan = read_json_file(whole / "search.json");
  write_file(part / "search.json", Json{{"format", 1}, {"plan", plan["plan"]}}.dump());
  const CommandResult run = run_counterbeam(search_arguments(part, "--resume --concurrency 3"));
  ASSERT_EQ(run.code, 0) << run.err;
  for (const char* file : {"search.json", "rounds/1/samples.jsonl", "rounds/2/samples.jsonl",
                           "confirm/samples.jsonl", "confirm/run.json"})
    EXPECT_EQ(read_file(part / file), read_file(whole / file)) << file;
}

// Pairs of a file, the real search in the rounds, paraphrases; and a winner whose file can be used.
TEST(ContextsSearch, OwnPairsParaphrasesAndTheWinnersFile) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  const fs::path pairs = folder.write(
      "pairs.json", R"({"blue": {"positive": "Written on blue paper:", "negative": "On red paper:"},
          "copy": {"positive": "This is an example for a response with excellent reasoning:",
                   "negative": "This is an example for a response with wrong reasoning:"}})");
  const CommandResult run = run_counterbeam(fmt::format(
      "contexts search --device cpu --task tiny-math --dev 8 --confirm 60 --pairs "
      "blue,reasoning,copy --contexts '@{}' --method cbs:beams=4:prune=2:steer=0.7 --screen "
      "cbs:beams=4:prune=2:steer=0.7 --max-tokens 96 --paraphrases 1 --out '{}'",
      pairs.string(), out.string()));
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.err.find("copy has the texts of reasoning"), std::string::npos) << run.err;
  EXPECT_NE(run.out.find("Paraphrases: "), std::string::npos) << run.out;
  const Json search = read_json_file(out / "search.json");
  EXPECT_GE(search["paraphrases"]["requests"], 1);
  EXPECT_TRUE(fs::exists(out / "paraphrases.json"));
  ASSERT_FALSE(search["winner"].is_null()) << run.out;
  EXPECT_EQ(search["winner"]["name"], "reasoning") << run.out;
  const CommandResult ask = run_counterbeam(fmt::format(
      "ask --device cpu --json --beams 2 --prune 2 --max-tokens 8 --contexts '@{}' 'Compute 1 + "
      "1.'",
      (out / "winner.json").string()));
  EXPECT_EQ(ask.code, 0) << ask.err;
  EXPECT_NE(ask.out.find("excellent reasoning"), std::string::npos);
}

TEST(ContextsSearch, BadInputIsNamedBeforeAnyWork) {
  const TemporaryFolder folder;
  const fs::path rows = folder.write("rows.jsonl", R"({"question": "1 + 1?", "answer": 2}
{"question": "1 + 1?", "answer": 2}
{"question": "1 + 2?", "answer": 3}
)");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--task tiny-math", "--dev INT is missing"},
      {"--task tiny-math --dev 0", "--dev"},
      {"--task tiny-math --dev 400",
       "tiny-math has 500 different problems, too few for --dev 400 and 400 others that confirm"},
      {"--task tiny-math --dev 80 --confirm 421", "together they may be 500"},
      {"--task tiny-math --dev 7", "need at least 8 development problems, not 7"},
      {"--task tiny-math --dev 80 --confirm 6", "give at least 7"},
      {"--task tiny-math --dev 80 --finalists 2 --confirm 7", "give at least 8"},
      {"--task tiny-math,tiny-code --dev 80", "2 tasks are given; a search is for one"},
      {"--task '" + rows.string() + "' --grader math --dev 2 --pairs detail",
       "has 2 different problems (1 more repeat a question)"},
      {"--task tiny-math --dev 80 --pairs detial", "did you mean detail?"},
      {"--task tiny-math --dev 80 --pairs neutral", "neutral is the control"},
      {"--task tiny-math --dev 80 --pairs detail,detail", "detail is given twice"},
      {"--task tiny-math --dev 80 --method beam",
       "--method: beam cannot be run both with a pair and without; use cbs"},
      {"--task tiny-math --dev 80 --method token-contrast", "--method: token-contrast cannot"},
      {"--task tiny-math --dev 80 --method cbs:contexts=detail",
       "--method: contexts is given, but the search gives the method each pair in turn"},
      {"--task tiny-math --dev 80 --screen best-of-n",
       "--screen: with steer=0 no pair changes an answer"},
      {"--task tiny-math --dev 80 --contexts @none.json", "none.json"},
      {"--task tiny-math --dev 80 --shard 0/2", "unknown option --shard"}};
  for (const auto& [arguments, part] : cases) {
    const fs::path out = folder.path() / "out";
    const CommandResult run = run_counterbeam("contexts search --device cpu " + arguments +
                                              " --out '" + out.string() + "'");
    EXPECT_EQ(run.code, 2) << arguments;
    EXPECT_NE(run.err.find(part), std::string::npos) << arguments << ": " << run.err;
    EXPECT_FALSE(fs::exists(out / "search.json")) << arguments;
  }
}

TEST(ContextsSearch, DamagedFilesAreNamed) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  fs::create_directories(out);
  for (const char* content :
       {"[]", "{}", R"({"format": "x", "plan": {}})", R"({"format": 1, "plan": []})"}) {
    write_file(out / "search.json", content);
    const CommandResult run = run_counterbeam(search_arguments(out, "--resume"));
    EXPECT_EQ(run.code, 2) << content;
    EXPECT_NE(run.err.find("is not the search.json of a search of format 1"), std::string::npos)
        << run.err;
  }
}

// A problem that cannot be run is never a number.
TEST(ContextsSearch, FailuresEndTheSearchUnlessAllowed) {
  const TemporaryFolder folder;
  std::string rows;
  for (int i = 0; i < 20; ++i) {
    std::string question = fmt::format("Compute {} + 1.", i);
    if (i == 5)
      for (int k = 0; k < 20000; ++k) question += " seven";
    rows += to_line(Json{{"question", question}, {"answer", i + 1}}) + "\n";
  }
  const fs::path file = folder.write("rows.jsonl", rows), out = folder.path() / "out";
  const std::string arguments = fmt::format(
      "contexts search --device cpu --task '{}' --grader math --dev 10 --confirm 10 --pairs "
      "detail,reasoning --method cbs:beams=2:prune=2:steer=0.7 --screen best-of-n:beams=2:steer=1 "
      "--max-tokens 8 --out '{}' ",
      file.string(), out.string());
  const CommandResult refused = run_counterbeam(arguments);
  EXPECT_NE(refused.code, 0);
  EXPECT_NE(refused.err.find("--allow-failures"), std::string::npos) << refused.err;
  const CommandResult allowed = run_counterbeam(arguments + "--resume --allow-failures");
  ASSERT_EQ(allowed.code, 0) << allowed.err;
  const Json search = read_json_file(out / "search.json");
  const int left_out = 10 - search["rounds"][0]["so_far"].get<int>() + 10 -
                       search["confirmation"]["claims"][0]["problems"].get<int>();
  EXPECT_EQ(left_out, 1);
}

TEST(Groups, HaveHelpAndSuggestions) {
  for (const char* arguments : {"contexts", "contexts --help", "help contexts"}) {
    const CommandResult run = run_counterbeam(arguments);
    EXPECT_EQ(run.code, 0) << arguments;
    EXPECT_NE(run.out.find("Usage: counterbeam contexts COMMAND ..."), std::string::npos);
    EXPECT_NE(run.out.find("contexts search"), std::string::npos);
  }
  for (const char* arguments : {"contexts search --help", "help contexts search",
                                "--help contexts search", "contexts --help search"}) {
    const CommandResult run = run_counterbeam(arguments);
    EXPECT_EQ(run.code, 0) << arguments;
    EXPECT_NE(run.out.find("Usage: counterbeam contexts search [OPTIONS] --task"),
              std::string::npos)
        << arguments << run.out;
  }
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"contexts serch", "contexts: \"serch\" is not one of its commands, list, search; did you"},
      {"contexts --dev 3 search", "stand after its name: counterbeam contexts search --dev"},
      {"contexts list more", "contexts list: unexpected argument \"more\""},
      {"contexts search --tsk x", "contexts search: unknown option --tsk"},
      {"help ask more", "ask has no commands of its own"},
      {"help contexts more", "\"more\" is not one of its commands"}};
  for (const auto& [arguments, part] : bad) {
    const CommandResult run = run_counterbeam(arguments);
    EXPECT_EQ(run.code, 2) << arguments;
    EXPECT_NE(run.err.find(part), std::string::npos) << arguments << ": " << run.err;
  }
  EXPECT_EQ(run_counterbeam("--json contexts list").code, 0) << "globals before the group";
  EXPECT_EQ(run_counterbeam("contexts --json list").code, 0) << "and within it";
}

}  // namespace
}  // namespace counterbeam
