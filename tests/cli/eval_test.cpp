// Tests the commands eval, merge and reproduce on the shipped model: samples.jsonl is the same byte
// for byte after kills, resumes, sharding and with any number of threads.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "eval/samples.h"
#include "support/run_command.h"
#include "support/test_size.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
using testing::CommandResult;
using testing::run_command;
using testing::run_counterbeam;
using testing::TemporaryFolder;

constexpr const char* kMethods =
    "sample:max-tokens=24,cbs:beams=4:prune=2:block=8:max-tokens=24:steer=0.7";

std::string eval_arguments(const fs::path& out, const std::string& more = "") {
  return fmt::format(
      "eval --device cpu --seed 3 --deterministic --task tiny-math,tiny-choice --limit 4 --methods "
      "{} --out '{}' {}",
      kMethods, out.string(), more);
}

std::string samples_of(const fs::path& out) {
  return read_file(out / "samples.jsonl");
}

// The result of an uninterrupted run, computed once.
const std::string& whole_run() {
  static const std::string kSamples = [] {
    const TemporaryFolder folder;
    const CommandResult run = run_counterbeam(eval_arguments(folder.path() / "whole"));
    EXPECT_EQ(run.code, 0) << run.err;
    return samples_of(folder.path() / "whole");
  }();
  return kSamples;
}

// Starts the program and kills it when now() returns true, unless it has ended before.
template <typename Now>
bool killed_when(const std::string& arguments, const Now& now) {
  const pid_t child = fork();
  if (child == 0) {
    const std::string command =
        "exec '" COUNTERBEAM_BINARY "' " + arguments + " >/dev/null 2>&1 </dev/null";
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(child, &status, WNOHANG)) == 0 && !now())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (ended == 0) {
    kill(child, SIGKILL);
    ended = waitpid(child, &status, 0);
  }
  EXPECT_EQ(ended, child);
  return WIFSIGNALED(status);
}

std::size_t bytes_of(const fs::path& file) {
  std::error_code none;
  const auto bytes = fs::file_size(file, none);
  return none ? 0 : bytes;
}

TEST(Eval, FiftyKillsAtRandomTimesLoseOrDuplicateNoSample) {
  ASSERT_EQ(std::count(whole_run().begin(), whole_run().end(), '\n'), 16);
  const TemporaryFolder folder;
  std::mt19937 random(20260101);
  constexpr int kKills = testing::sized(50, 6);
  int kills = 0, runs = 0, within = 0;  // within: kills that interrupted a run
  for (fs::path out; kills < kKills; ++runs) {
    if (out.empty()) out = folder.path() / fmt::format("run{}", runs);
    // Either after a random time, or as soon as the file grows, which does not depend on the
    // machine's speed.
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::milliseconds(20 + random() % 380);
    const bool by_clock = runs % 2 == 0;
    const std::size_t before = bytes_of(out / "samples.jsonl");
    if (killed_when(eval_arguments(out, "--resume --concurrency 2"), [&] {
          return by_clock ? Clock::now() >= end : bytes_of(out / "samples.jsonl") > before;
        })) {
      ++kills;
      if (fs::exists(out / "samples.jsonl")) {
        std::set<SampleKey> keys;
        for (const Sample& sample : read_samples(out / "samples.jsonl"))
          EXPECT_TRUE(keys.insert(key_of(sample)).second);
        within += !keys.empty() && keys.size() < 16;
      }
    } else {
      EXPECT_EQ(samples_of(out), whole_run());
      out.clear();  // finished: the next kills hit a new run
    }
    if (kills == kKills && !out.empty()) {
      const CommandResult last = run_counterbeam(eval_arguments(out, "--resume"));
      EXPECT_EQ(last.code, 0) << last.err;
      EXPECT_EQ(samples_of(out), whole_run());
      for (const auto& entry : fs::directory_iterator(out))
        EXPECT_NE(entry.path().extension(), ".part");
    }
  }
  RecordProperty("half_done", within);
  EXPECT_GT(within, 0) << "no kill interrupted a run: all came too early or too late";
}

TEST(Eval, AnAnswerThatDoesNotFitIntoTheCacheIsAFaultAndNotWrong) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "run";
  folder.write("run/notes.part", "of the user");
  const std::string run =
      "eval --device cpu --task tiny-math --limit 3 --methods sample:max-tokens=200 "
      "--deterministic -q --out '" +
      out.string() + "' ";
  const CommandResult small = run_counterbeam(run + "--cache-memory 500K --allow-failures");
  EXPECT_EQ(small.code, 0) << small.err;
  int faults = 0;
  for (const Sample& sample : read_samples(out / "samples.jsonl")) {
    faults += !sample.error.empty();
    EXPECT_FALSE(sample.truncated) << "cut off, and graded all the same";
  }
  EXPECT_GT(faults, 0);
  EXPECT_TRUE(fs::exists(out / "notes.part"));
  // More memory is the remedy that the fault names.
  const CommandResult larger = run_counterbeam(run + "--resume");
  EXPECT_EQ(larger.code, 0) << larger.err;
  const std::string repaired = samples_of(out);
  EXPECT_EQ(repaired.find("\"error\""), std::string::npos) << repaired;
  fs::remove_all(out);
  EXPECT_EQ(run_counterbeam(run).code, 0);
  EXPECT_EQ(samples_of(out), repaired);
}

TEST(Eval, TracesHaveShortNamesOfTheirOwnWhateverTheMethod) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "run";
  const std::string text(300, 'x');
  folder.write("methods",
               "cbs:beams=2:prune=1:max-tokens=2:positive=\"" + text + " a/b\":negative=n\n" +
                   "cbs:beams=2:prune=1:max-tokens=2:positive=\"" + text + " a-b\":negative=n\n");
  const CommandResult result =
      run_counterbeam("eval --device cpu --task tiny-math --limit 1 --traces -q --methods '@" +
                      (folder.path() / "methods").string() + "' --out '" + out.string() + "'");
  EXPECT_EQ(result.code, 0) << result.err;
  std::set<std::string> names;
  for (const Sample& sample : read_samples(out / "samples.jsonl")) {
    EXPECT_LT(sample.trace.size(), 200u);
    EXPECT_TRUE(fs::exists(out / sample.trace)) << sample.trace;
    names.insert(sample.trace);
  }
  EXPECT_EQ(names.size(), 2u);
}

// Names of data files become names of tasks, and folders may have names in any encoding.
TEST(Eval, LongTaskNamesAndFoldersThatAreNotUtf8) {
  const TemporaryFolder folder;
  const std::string task(200, 'n');
  folder.write(task + ".jsonl", R"({"question": "Compute 1 + 2.", "answer": "3"})"
                                "\n");
  const fs::path out = folder.path() / "x\xff'";
  const CommandResult result = run_counterbeam(
      fmt::format("eval --device cpu --task '{}/{}.jsonl' --grader math --methods "
                  "cbs:beams=2:prune=1:max-tokens=2 "
                  "--traces -q --out '{}'\\'",
                  folder.path().string(), task, (folder.path() / "x\xff").string()));
  ASSERT_EQ(result.code, 0) << result.err;
  const std::vector<Sample> samples = read_samples(out / "samples.jsonl");
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_TRUE(samples[0].trace.starts_with("traces/nnn")) << samples[0].trace;
  EXPECT_TRUE(fs::exists(out / samples[0].trace)) << samples[0].trace;
  const Json run = read_json_file(out / "run.json");
  EXPECT_NE(run["sessions"][0]["command"].get<std::string>().find("/x\\xFF\\x27'"),
            std::string::npos)
      << run["sessions"][0]["command"];
  const CommandResult bad =
      run_counterbeam("eval --device cpu --task tiny-math --methods 'cbs:positive=\xff' --out " +
                      (folder.path() / "y").string());
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.err.find("is not valid UTF-8"), std::string::npos) << bad.err;
}

TEST(Eval, DoesNotDependOnThreadsConcurrencyAndMemory) {
  const TemporaryFolder folder;
  for (const char* how : {"--concurrency 1 --threads 1", "--concurrency 16 --threads 1",
                          "--concurrency 16 --threads 2", "--concurrency 16 --cache-memory 3M"}) {
    const fs::path out = folder.path() / std::to_string(std::hash<std::string>{}(how));
    const CommandResult run = run_counterbeam(eval_arguments(out, how));
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(samples_of(out), whole_run()) << how;
  }
}

TEST(Eval, AShardWithoutProblemsIsDoneAndMerges) {
  const TemporaryFolder folder;
  std::string shards;
  for (int shard = 0; shard < 5; ++shard) {
    const fs::path out = folder.path() / std::to_string(shard);
    const CommandResult run =
        run_counterbeam(eval_arguments(out, fmt::format("--shard {}/5", shard)));
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(run.err.find("shard 4/5 has no problems") != std::string::npos, shard == 4);
    shards += fmt::format("'{}' ", out.string());
  }
  const fs::path all = folder.path() / "all";
  const CommandResult merged =
      run_counterbeam(fmt::format("merge {} --out '{}'", shards, all.string()));
  EXPECT_EQ(merged.code, 0) << merged.err;
  EXPECT_EQ(samples_of(all), whole_run());
}

TEST(Eval, ShardsMergeToTheWhole) {
  const TemporaryFolder folder;
  const fs::path a = folder.path() / "a", b = folder.path() / "b", all = folder.path() / "all";
  ASSERT_EQ(run_counterbeam(eval_arguments(a, "--shard 0/2")).code, 0);
  ASSERT_EQ(run_counterbeam(eval_arguments(b, "--shard 1/2")).code, 0);
  const auto merge = [&](const fs::path& second) {
    return run_counterbeam(
        fmt::format("merge '{}' '{}' --out '{}'", a.string(), second.string(), all.string()));
  };
  const CommandResult merged = merge(b);
  EXPECT_EQ(merged.code, 0) << merged.err;
  EXPECT_EQ(samples_of(all), whole_run());
  EXPECT_TRUE(fs::exists(all / "report.html"));
  const fs::path whole = folder.path() / "whole";
  ASSERT_EQ(run_counterbeam(eval_arguments(whole)).code, 0);
  EXPECT_EQ(read_file(all / "run.json"), read_file(whole / "run.json"));
  const CommandResult one = run_counterbeam(
      fmt::format("merge '{}' --out '{}'", a.string(), (folder.path() / "half").string()));
  EXPECT_EQ(one.code, 2);
  EXPECT_NE(one.err.find("missing shard: 1/2"), std::string::npos) << one.err;
  const CommandResult half = run_counterbeam(fmt::format(
      "merge '{}' --partial --out '{}'", a.string(), (folder.path() / "half").string()));
  EXPECT_EQ(half.code, 0) << half.err;
  EXPECT_NE(half.err.find("missing shard: 1/2"), std::string::npos) << half.err;
  const CommandResult twice = merge(a);
  EXPECT_EQ(twice.code, 2);
  EXPECT_NE(twice.err.find("is also in"), std::string::npos) << twice.err;
}

TEST(Eval, MoreWorkIsAddedToAFinishedRun) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  const std::string base = fmt::format(
      "eval --device cpu --seed 3 --deterministic --task tiny-math --out '{}' ", out.string());
  ASSERT_EQ(run_counterbeam(base + "--limit 1 --methods sample:max-tokens=8").code, 0);
  const std::string first = samples_of(out);
  EXPECT_EQ(run_counterbeam(base + "--limit 1 --methods sample:max-tokens=8").code, 2);
  const CommandResult more = run_counterbeam(
      base +
      "--limit 2 --samples 2 --methods sample:max-tokens=8,low-temperature:max-tokens=8 "
      "--resume --json");
  ASSERT_EQ(more.code, 0) << more.err;
  EXPECT_EQ(read_samples(out / "samples.jsonl").size(), 8u);
  EXPECT_TRUE(samples_of(out).starts_with(first));
  Json summary = parse_json(more.out, "output");
  EXPECT_EQ(summary.erase("published"), 1u);  // what --json adds
  EXPECT_EQ(summary["tasks"][0]["methods"][0]["pass_at"].size(), 2u);
  EXPECT_EQ(summary["tasks"][0]["methods"][0]["samples"], 4);
  EXPECT_EQ(summary, read_json_file(out / "summary.json"));
  const CommandResult other =
      run_counterbeam(base + "--limit 1 --methods sample:max-tokens=8 --resume --system Hi");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("run.json"), std::string::npos) << other.err;
}

// A model of the paper's name in a hub cache: the published figures stand beside ours, after a
// merge too.
TEST(Eval, AModelOfTheHubCacheIsCalledByItsName) {
  const TemporaryFolder folder;
  const fs::path snapshots = folder.path() / "hub/models--Qwen--Qwen2.5-7B/snapshots";
  fs::create_directories(snapshots / "5d3f");
  for (const auto& entry : fs::directory_iterator(COUNTERBEAM_SOURCE_DIR "/models/tiny-dense"))
    fs::create_symlink(entry.path(), snapshots / "5d3f" / entry.path().filename());
  const fs::path data = folder.write(
      "rows.jsonl", R"({"problem": "What is 1 + 1?", "answer": "2", "unique_id": "a"})");
  const std::string hub =
      fmt::format("HF_HUB_CACHE='{}' '" COUNTERBEAM_BINARY "' ", (folder.path() / "hub").string());
  int number = 0;
  for (const std::string& model : {std::string("Qwen/Qwen2.5-7B"), (snapshots / "5d3f").string(),
                                   (snapshots / "5d3f/").string()}) {
    const fs::path out = folder.path() / std::to_string(++number);
    const std::string what =
        fmt::format("--device cpu --model '{}' --task math500 --data '{}' --out '{}'", model,
                    data.string(), out.string());
    const CommandResult run = run_command(hub + "reproduce efficiency --quick --limit 1 " + what);
    ASSERT_EQ(run.code, 0) << run.err;
    const Json record = read_json_file(out / "run.json");
    EXPECT_EQ(record["model"], "Qwen/Qwen2.5-7B");
    EXPECT_EQ(record["experiment"], "efficiency");
    EXPECT_NE(record["sessions"][0]["command"].get<std::string>().find("reproduce efficiency"),
              std::string::npos);
    EXPECT_NE(read_file(out / "report.html").find("0.326"), std::string::npos)
        << "the paper's figure";
    if (testing::kSanitized) break;
  }
  const fs::path merged = folder.path() / "merged";
  const CommandResult merge = run_command(
      hub + fmt::format("merge '{}' --out '{}'", (folder.path() / "1").string(), merged.string()));
  ASSERT_EQ(merge.code, 0) << merge.err;
  EXPECT_NE(read_file(merged / "report.html").find("0.326"), std::string::npos);
  EXPECT_NE(read_file(merged / "report.html").find("\"experiment\":\"efficiency\""),
            std::string::npos);
}

// Two models in folders of the same name; then a dtype, and the same model elsewhere.
TEST(Eval, ResumingRefusesAnotherModelAndSaysWhatDiffers) {
  const TemporaryFolder folder;
  const auto copy = [&](const std::string& model, const fs::path& to) {
    fs::create_directories(to.parent_path());
    fs::copy(fs::path(COUNTERBEAM_SOURCE_DIR) / "models" / model, to);
  };
  copy("tiny-dense", folder.path() / "a/model");
  copy("tiny-hybrid", folder.path() / "b/model");
  const auto eval = [&](const std::string& more) {
    return run_counterbeam(fmt::format(
        "eval --device cpu --task tiny-math --methods sample:max-tokens=4 --out '{}' {}",
        (folder.path() / "out").string(), more));
  };
  const std::string own = "--model '" + (folder.path() / "a/model").string() + "' ";
  ASSERT_EQ(eval(own + "--limit 1").code, 0);
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"--model '" + (folder.path() / "b/model").string() + "'", "fingerprint.weights was "},
      {own + "--dtype " +
           (read_json_file(folder.path() / "out/run.json")["dtype"] == "f32" ? "bf16" : "f32"),
       "dtype was "},
      {own + "--seed 4", "seed was 0, and now is 4"},
      {own + "--extract lenient",
       "tasks.tiny-math.extract was \"strict\", and now is \"lenient\""}};
  for (const auto& [options, part] : refused) {
    const CommandResult run = eval(options + " --resume --limit 1");
    EXPECT_EQ(run.code, 2) << options;
    EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
  }
  fs::rename(folder.path() / "a/model", folder.path() / "moved");
  const CommandResult moved =
      eval("--resume --limit 2 --model '" + (folder.path() / "moved").string() + "'");
  EXPECT_EQ(moved.code, 0) << moved.err;
  EXPECT_EQ(read_json_file(folder.path() / "out/run.json")["sessions"].size(), 2u);
}

TEST(Eval, APartialLineIsReplaced) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  ASSERT_EQ(run_counterbeam(eval_arguments(out, "--shard 0/4")).code, 0);
  const std::string done = samples_of(out);
  write_file(out / "samples.jsonl", done.substr(0, done.size() - 17));
  ASSERT_EQ(run_counterbeam(eval_arguments(out, "--shard 0/4 --resume")).code, 0);
  EXPECT_EQ(samples_of(out), done);
}

// Rows of problems, one of them far too long for the model.
std::string rows_with_a_long_one(const std::vector<std::string>& ids) {
  std::string rows;
  for (const std::string& id : ids) {
    std::string problem = "What is 1 + 1?";
    if (id == "long")
      for (int i = 0; i < 20000; ++i) problem += " seven plus";
    rows += to_line(Json{{"problem", problem}, {"answer", "2"}, {"unique_id", id}}) + "\n";
  }
  return rows;
}

TEST(Eval, AProblemThatFailsIsRecordedNotGradedAndRetried) {
  const TemporaryFolder folder;
  const fs::path data = folder.write("rows.jsonl", rows_with_a_long_one({"a", "long", "b"}));
  const fs::path out = folder.path() / "out";
  const auto eval = [&](const std::string& more) {
    return run_counterbeam(
        fmt::format("eval --device cpu --task math500 --data '{}' --methods sample:max-tokens=8 "
                    "--out '{}' {}",
                    data.string(), out.string(), more));
  };
  const CommandResult run = eval("");
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("1 sample could not be run or judged"), std::string::npos) << run.err;
  EXPECT_NE(run.out.find("1 sample failed and is not graded: the prompt has"), std::string::npos)
      << run.out;
  std::vector<Sample> samples = read_samples(out / "samples.jsonl");
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_FALSE(samples[1].error.empty());
  EXPECT_TRUE(samples[0].error.empty() && samples[2].error.empty());
  const Json summary = read_json_file(out / "summary.json");
  EXPECT_EQ(summary["tasks"][0]["methods"][0]["questions"], 2);
  EXPECT_EQ(summary["failures"][0]["samples"], 1);
  EXPECT_EQ(eval("--resume --allow-failures").code, 0);

  // The cause is gone: the sample is run again, once.
  samples[1].id = "b";
  samples[1].question = 2;
  samples.resize(2);
  write_file(out / "samples.jsonl", to_line(samples[0]) + "\n" + to_line(samples[1]) + "\n");
  EXPECT_EQ(eval("--resume").code, 1) << "the long one fails again";
  samples = read_samples(out / "samples.jsonl");
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[2].id, "b");
  EXPECT_TRUE(samples[2].error.empty());
}

TEST(Eval, TheFirstProblemOfATaskMustNotFail) {
  const TemporaryFolder folder;
  const fs::path data = folder.write("rows.jsonl", rows_with_a_long_one({"long", "a"}));
  const fs::path out = folder.path() / "out";
  const std::string arguments = fmt::format(
      "eval --device cpu --task math500 --data '{}' --methods sample:max-tokens=8 --out '{}' ",
      data.string(), out.string());
  const CommandResult run = run_counterbeam(arguments);
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("math500, problem long, sample:max-tokens=8: the prompt has"),
            std::string::npos)
      << run.err;
  EXPECT_FALSE(fs::exists(out / "summary.json")) << "no table of zeros";
  EXPECT_EQ(run_counterbeam(arguments + "--resume --allow-failures").code, 0);
}

// What the contexts say about each token is kept, and is what `score` says about the same answer.
TEST(Eval, RewardsOfTokensAreKept) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  const CommandResult run = run_counterbeam(
      fmt::format("eval --device cpu --task tiny-math --limit 1 --max-tokens 24 --methods "
                  "beam:beams=4,cbs:beams=4,best-of-n:beams=4:steer=0.5:contexts=detail --out '{}'",
                  out.string()));
  ASSERT_EQ(run.code, 0) << run.err;
  const std::vector<Sample> samples = read_samples(out / "samples.jsonl");
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_TRUE(samples[0].token_bytes.empty()) << "no contexts, no rewards";
  const std::string line = read_file(out / "problems.jsonl");
  const Json problem = parse_json(line.substr(0, line.find('\n')), "problems.jsonl");
  for (const auto& [index, contexts] : {std::pair(1, "reasoning"), std::pair(2, "detail")}) {
    const Sample& sample = samples[static_cast<std::size_t>(index)];
    const fs::path lines = folder.write(
        "ask.jsonl", to_line(Json{{"question", problem["question"]}, {"answer", sample.answer}}));
    const CommandResult score = run_counterbeam(fmt::format(
        "score --device cpu --jsonl --contexts {} --json < '{}'", contexts, lines.string()));
    ASSERT_EQ(score.code, 0) << score.err;
    const Json scored = parse_json(score.out, "score");
    ASSERT_EQ(scored["tokens"].size(), sample.token_bytes.size());
    for (std::size_t i = 0; i < sample.token_bytes.size(); ++i) {
      const Json& token = scored["tokens"][i];
      EXPECT_EQ(token["text"].get<std::string>().size(), sample.token_bytes[i]) << i;
      EXPECT_NEAR(token["reward"].get<double>(), sample.token_rewards[i] / 100.0, 0.0051) << i;
    }
  }
}

// Methods that differ in what a file name cannot hold, and one that is too long for a file name.
TEST(Eval, EveryMethodHasATraceOfItsOwn) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  const fs::path methods =
      folder.write("methods.txt",
                   "cbs:beams=4:positive=\"A?\":negative=\"B\"\n"
                   "cbs:beams=4:positive=\"A!\":negative=\"B\"\ncbs:beams=4:positive=\"" +
                       std::string(300, 'x') + "\":negative=\"B\"\ncbs:beams=4:steer=0.7\n");
  const CommandResult run = run_counterbeam(
      fmt::format("eval --device cpu --task tiny-math --limit 1 --max-tokens 4 --traces --methods "
                  "@'{}' --out '{}'",
                  methods.string(), out.string()));
  ASSERT_EQ(run.code, 0) << run.err;
  std::set<std::string> traces;
  for (const Sample& sample : read_samples(out / "samples.jsonl")) {
    EXPECT_TRUE(fs::exists(out / sample.trace)) << sample.trace;
    traces.insert(sample.trace);
  }
  EXPECT_EQ(traces.size(), 4u);
  EXPECT_TRUE(traces.contains("traces/tiny-math-0-cbs-beams=4-steer=0.7-0.html"));
}

// A template that refuses the task's system message: nothing is run.
TEST(Eval, APromptThatCannotBeRenderedEndsTheRun) {
  const TemporaryFolder folder;
  const fs::path model = folder.path() / "model", out = folder.path() / "out";
  fs::create_directories(model);
  for (const auto& entry : fs::directory_iterator(COUNTERBEAM_SOURCE_DIR "/models/tiny-dense"))
    fs::copy(entry.path(), model / entry.path().filename());
  folder.write("model/chat_template.jinja",
               "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system "
               "messages') }}{% endif %}{{ m.content }}{% endfor %}");
  const CommandResult run = run_counterbeam(
      fmt::format("eval --device cpu --model '{}' --task tiny-math --limit 4 --methods sample,cbs "
                  "--out '{}'",
                  model.string(), out.string()));
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.err.find("the prompt cannot be rendered"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("no system messages"), std::string::npos) << run.err;
  EXPECT_FALSE(fs::exists(out / "samples.jsonl"));
}

// A data file of one's own with every grader, through a task file, from the row to the table.
TEST(Eval, OwnTasksAreRunAndGraded) {
  const TemporaryFolder folder;
  folder.write("sums.jsonl", R"({"question": "What is 1 + 1?", "answer": 2})");
  folder.write("words.csv", "id,question,answer,unit\na,What is 1 + 1?,2,cm\n");
  folder.write("anything.jsonl", R"({"question": "What is 1 + 1?", "answer": "."})");
  const fs::path tasks = folder.write("tasks.json", R"({"tasks": [
      {"file": "sums.jsonl", "grader": "math"},
      {"file": "words.csv", "grader": "exact", "prompt": "{question} In {unit}."},
      {"file": "anything.jsonl", "grader": "regex"}]})");
  const auto eval = [&](const std::string& what, const std::string& out) {
    return run_counterbeam(
        fmt::format("eval --device cpu --methods sample:max-tokens=16 {} --out '{}'", what,
                    (folder.path() / out).string()));
  };
  const CommandResult run = eval("--task '" + tasks.string() + "' --extract lenient", "several");
  ASSERT_EQ(run.code, 0) << run.err;
  const Json summary = read_json_file(folder.path() / "several/summary.json");
  ASSERT_EQ(summary["tasks"].size(), 3u);
  EXPECT_EQ(summary["tasks"][2]["task"], "anything");
  EXPECT_EQ(summary["tasks"][2]["methods"][0]["accuracy"]["mean"], 1.0);
  const Json record = read_json_file(folder.path() / "several/run.json");
  EXPECT_EQ(record["tasks"]["words"]["grader"], "exact");
  EXPECT_NE(read_file(folder.path() / "several/problems.jsonl").find("In cm."), std::string::npos);
  const std::string own = "--task '" + (folder.path() / "sums.jsonl").string() + "' ";
  EXPECT_EQ(eval(own + "--grader math", "one").code, 0);
  const CommandResult no_grader = eval(own, "none");
  EXPECT_EQ(no_grader.code, 2);
  EXPECT_NE(no_grader.err.find("needs --grader"), std::string::npos) << no_grader.err;
}

TEST(Grade, ExactRegexAndExtract) {
  const auto grade = [](const std::string& arguments) {
    const CommandResult run = run_counterbeam("grade --json " + arguments);
    EXPECT_TRUE(run.code == 0 || run.code == 2) << run.err;
    return run.code == 0 ? parse_json(run.out, "output") : Json(run.err);
  };
  EXPECT_EQ(grade("--task exact Paris ' Paris '")["equal"], true);
  EXPECT_EQ(grade("--task exact Paris paris")["equal"], false);
  EXPECT_EQ(grade("--task regex '[Pp]aris' 'It is Paris.'")["extracted"], "Paris");
  EXPECT_NE(grade("--task regex '(' x").get<std::string>().find("cannot be read"),
            std::string::npos);
  EXPECT_EQ(grade("--task math 2 '<think> so \\boxed{2}'")["equal"], false);
  EXPECT_EQ(grade("--task math 2 '<think> so \\boxed{2}' --extract lenient")["equal"], true);
  EXPECT_EQ(grade("--task choice B '<think> so \\boxed{B}' --extract lenient")["equal"], true);
}

// One search at a time: seconds are measured, and no method profits from prompts that another left
// in the cache.
TEST(Eval, SecondsAreMeasuredOneSearchAtATime) {
  const TemporaryFolder folder;
  const auto eval = [&](const std::string& name, const std::string& methods,
                        const std::string& more) {
    const fs::path out = folder.path() / name;
    const CommandResult run = run_counterbeam(
        fmt::format("eval --device cpu --task tiny-math --limit 2 --methods {} --out '{}' {}",
                    methods, out.string(), more));
    EXPECT_EQ(run.code, 0) << run.err;
    return read_json_file(out / "summary.json")["tasks"][0]["methods"];
  };
  const std::string a = "sample:max-tokens=8", b = "low-temperature:max-tokens=8";
  for (const Json& method : eval("ab", a + "," + b, "--concurrency 1")) {
    EXPECT_GT(method["seconds"], 0.0);
    EXPECT_EQ(method["cached_tokens"], 0) << method["method"];
  }
  for (const Json& method : eval("ba", b + "," + a, "--concurrency 1"))
    EXPECT_EQ(method["cached_tokens"], 0) << method["method"];
  for (const Json& method : eval("many", a + "," + b, "--concurrency 2"))
    EXPECT_FALSE(method.contains("seconds"));
  for (const Sample& sample : read_samples(folder.path() / "many/samples.jsonl"))
    EXPECT_GT(sample.seconds, 0) << "raw seconds stay in samples.jsonl";
}

TEST(Eval, CtrlCKeepsFinishedSamples) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  // More work than can finish; interrupted as soon as there are three samples.
  const CommandResult run = run_command(fmt::format(
      "'" COUNTERBEAM_BINARY
      "' eval --device cpu --deterministic --task tiny-math --methods "
      "sample:max-tokens=24 --concurrency 2 --out '{0}' & child=$!; "
      "for i in $(seq 200); do [ \"$(wc -l < '{0}/samples.jsonl' 2>/dev/null || echo 0)\" -ge 3 ] "
      "&& break; sleep 0.05; done; kill -INT $child; wait $child",
      out.string()));
  EXPECT_NE(run.code, 0);
  EXPECT_NE(run.err.find("--resume"), std::string::npos) << run.err;
  const std::size_t kept = read_samples(out / "samples.jsonl").size();
  EXPECT_GE(kept, 3u);
  EXPECT_LT(kept, 500u);
  EXPECT_TRUE(samples_of(out).ends_with("\n"));
}

TEST(Eval, BadUsageIsRejectedBeforeAnyWork) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("test.jsonl", "{}");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--task tiny-math --methods sample,sample", "sample is given twice"},
      {"--task tiny-math,tiny-math --methods sample", "tiny-math is given twice"},
      {"--task tiny-math --methods cbs:nonsense=1", "nonsense"},
      {"--task tiny-math --methods sample --shard 2/2", "--shard"},
      {"--task math500,gsm8k --methods sample --data '" + file.string() + "'", "one file"},
      {"--task gpqa --methods sample", "gpqa_diamond.csv"}};
  for (const auto& [arguments, part] : cases) {
    const fs::path out = folder.path() / "out";
    const CommandResult run =
        run_counterbeam("eval --device cpu " + arguments + " --out '" + out.string() + "'");
    EXPECT_EQ(run.code, 2) << arguments;
    EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
    EXPECT_FALSE(fs::exists(out / "samples.jsonl"));
  }
}

// Best-of-n methods that differ in their contexts share their samples; each answer is the one that
// the method finds alone.
TEST(Eval, SharedSamplesGiveWhatEachMethodGivesAlone) {
  const TemporaryFolder folder;
  const std::string base =
      "eval --device cpu --seed 5 --deterministic --task tiny-choice --limit 2 --methods ";
  const std::string setting = ":beams=6:block=8:max-tokens=40";
  std::vector<std::string> methods;
  for (const char* method : {"best-of-n:steer=0", "best-of-n:steer=0.7",
                             "best-of-n:steer=3:contexts=reviewer", "sample"})
    methods.push_back(method + (method == std::string("sample") ? ":max-tokens=40" : setting));
  const fs::path together = folder.path() / "together";
  const CommandResult run = run_counterbeam(
      base + fmt::format("{} --out '{}'", fmt::join(methods, ","), together.string()));
  ASSERT_EQ(run.code, 0) << run.err;
  std::map<SampleKey, std::string> lines;
  for (const Sample& sample : read_samples(together / "samples.jsonl"))
    lines[key_of(sample)] = to_line(sample);
  ASSERT_EQ(lines.size(), 8u);
  for (std::size_t i = 0; i < methods.size(); ++i) {
    const fs::path alone = folder.path() / std::to_string(i);
    ASSERT_EQ(run_counterbeam(base + methods[i] + " --out '" + alone.string() + "'").code, 0);
    for (const Sample& sample : read_samples(alone / "samples.jsonl"))
      EXPECT_EQ(to_line(sample), lines[key_of(sample)]);
  }
  // --traces runs every search separately.
  const fs::path traced = folder.path() / "traced";
  ASSERT_EQ(run_counterbeam(base + methods[2] + " --traces --out '" + traced.string() + "'").code,
            0);
  for (const Sample& sample : read_samples(traced / "samples.jsonl")) {
    const Sample shared = parse_sample(lines[key_of(sample)], "shared");
    EXPECT_EQ(sample.answer, shared.answer);
    EXPECT_NEAR(sample.score, shared.score, 1e-5);
    EXPECT_EQ(sample.generated_tokens, shared.generated_tokens);
    EXPECT_EQ(sample.scored_tokens, shared.scored_tokens);
    EXPECT_TRUE(fs::exists(traced / sample.trace));
  }
}

TEST(Reproduce, Table1WritesTheReport) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  const CommandResult run = run_counterbeam(fmt::format(
      "reproduce table1 --quick --limit 1 --device cpu --task tiny-math --out '{}'", out.string()));
  ASSERT_EQ(run.code, 0) << run.err;
  const Json summary = read_json_file(out / "summary.json");
  EXPECT_EQ(summary["tasks"][0]["methods"].size(), 7u);
  EXPECT_NE(read_file(out / "report.html").find("table1"), std::string::npos);
}

}  // namespace
}  // namespace counterbeam
