// Shards merge if they are of one run and leave no gap; every gap is named.
#include "eval/merge.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "eval/parts.h"
#include "eval/provenance.h"
#include "eval/reported_run.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
const fs::path kSource = COUNTERBEAM_SOURCE_DIR;

class MergeTest : public ::testing::Test {
 protected:
  MergeTest() {
    static const LoadedModel kModel =
        LoadedModel::load((kSource / "models/tiny-dense").string(), {.device = "cpu"});
    static const std::vector<TaskData> kTasks = {load_task("tiny-math", kSource / "tasks", 0)};
    for (int shard = 0; shard < 3; ++shard) {
      EvalOptions options;
      options.methods = parse_methods("sample");
      options.limit = 6;
      options.shard = shard;
      options.shards = 3;
      options.experiment = "table1";
      options.deterministic = true;
      runs_[shard] = describe_run(kModel, kTasks, options, 10);
      write(shard, {shard, shard + 3});
    }
  }

  fs::path path(int shard) const { return folder_.path() / std::to_string(shard); }

  void write(int shard, const std::vector<int>& questions) {
    std::string lines;
    for (const int question : questions) {
      Sample sample;
      sample.task = "tiny-math";
      sample.id = std::to_string(question);
      sample.method = "sample";
      sample.question = question;
      lines += to_line(sample) + "\n";
    }
    fs::create_directories(path(shard));
    write_file(path(shard) / "samples.jsonl", lines);
    write_file(path(shard) / "run.json", runs_[shard].dump(2) + "\n");
  }

  std::string refusal(const std::vector<int>& shards, bool partial = false) {
    std::vector<fs::path> paths;
    for (const int shard : shards) paths.push_back(path(shard));
    try {
      gaps_ = merge_runs(paths, folder_.path() / "out", partial);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  testing::TemporaryFolder folder_;
  Json runs_[3];
  std::vector<std::string> gaps_;
};

TEST_F(MergeTest, AllShardsAreTheWhole) {
  ASSERT_EQ(refusal({0, 1, 2}), "");
  EXPECT_TRUE(gaps_.empty());
  const Json run = read_run(folder_.path() / "out");
  EXPECT_EQ(run["experiment"], "table1");
  EXPECT_EQ(run["parts"].size(), 1u);
  EXPECT_EQ(run["parts"][0]["shard"], "0/1");
  EXPECT_FALSE(run.contains("gaps"));
  EXPECT_EQ(read_samples(folder_.path() / "out/samples.jsonl").size(), 6u);
}

TEST_F(MergeTest, AMissingShardIsNamed) {
  EXPECT_NE(refusal({0, 2}).find("missing shard: 1/3"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_.path() / "out/samples.jsonl"));
  EXPECT_NE(refusal({1}).find("missing shards: 0/3, 2/3"), std::string::npos);
  ASSERT_EQ(refusal({0, 2}, true), "");
  ASSERT_EQ(gaps_.size(), 1u);
  const Json run = read_run(folder_.path() / "out");
  EXPECT_EQ(run["gaps"][0], gaps_[0]);
  EXPECT_EQ(run["parts"].size(), 2u);
}

TEST_F(MergeTest, AnUnfinishedShardIsNamed) {
  write(1, {1});
  EXPECT_NE(refusal({0, 1, 2}).find("1 of its samples are missing"), std::string::npos);
  EXPECT_EQ(refusal({0, 1, 2}, true), "");
}

TEST_F(MergeTest, ATornLineIsNamed) {
  const fs::path file = path(1) / "samples.jsonl";
  write_file(file, read_file(file) + R"({"task": "tiny)");
  EXPECT_NE(refusal({0, 1, 2}).find("last line is incomplete (14 bytes"), std::string::npos);
  EXPECT_EQ(refusal({0, 1, 2}, true), "");
  EXPECT_EQ(read_samples(folder_.path() / "out/samples.jsonl").size(), 6u);
}

TEST_F(MergeTest, SamplesWithoutARecordAreNamed) {
  fs::remove(path(2) / "run.json");
  EXPECT_NE(refusal({0, 1, 2}).find("run.json: is missing"), std::string::npos);
}

TEST_F(MergeTest, AnotherRunIsRefusedEvenIfGapsAreAllowed) {
  for (const char* field : {"dtype", "seed", "model_length"}) {
    const Json before = runs_[1];
    runs_[1][field] = 3;
    write(1, {1, 4});
    const std::string message = refusal({0, 1, 2}, true);
    EXPECT_NE(message.find(std::string("\n  ") + field + " was "), std::string::npos) << message;
    EXPECT_NE(message.find("is not of the same run as"), std::string::npos) << message;
    runs_[1] = before;
  }
}

TEST_F(MergeTest, ShardsMayHaveCachesOfDifferentSizes) {
  runs_[1]["longest_sequence"] = 64;
  write(1, {1, 4});
  EXPECT_EQ(refusal({0, 1, 2}), "");
}

TEST_F(MergeTest, TheSameSampleTwiceIsRefused) {
  EXPECT_NE(refusal({0, 0}).find("is also in"), std::string::npos);
}

TEST_F(MergeTest, SamplesThatRunJsonDoesNotAskForAreRefused) {
  for (const auto& [key, value] : std::map<std::string, Json>{
           {"task", "gsm8k"}, {"method", "beam"}, {"question", 7}, {"sample", 3}}) {
    write(1, {1, 4});
    Json line = Json::parse(to_line(read_samples(path(1) / "samples.jsonl").front()));
    line[key] = value;
    line["id"] = "new";
    const fs::path file = path(1) / "samples.jsonl";
    write_file(file, read_file(file) + line.dump() + "\n");
    for (const bool partial : {false, true})
      EXPECT_NE(refusal({0, 1, 2}, partial).find("is not among those that run.json asks for"),
                std::string::npos)
          << key;
    EXPECT_THROW(read_reported_run(path(1)), Error) << key;
  }
}

TEST_F(MergeTest, AQuestionHasOneName) {
  const fs::path file = path(1) / "samples.jsonl";
  Json line = Json::parse(to_line(read_samples(file).front()));
  line["id"] = "other";
  write_file(file, read_file(file) + line.dump() + "\n");
  EXPECT_NE(refusal({0, 1, 2}).find("that question is 1 elsewhere"), std::string::npos);
}

TEST_F(MergeTest, TheOrderIsThatOfTheRunAndNotOfTheLines) {
  for (Json& run : runs_) {
    run["tasks"]["later"] = run["tasks"]["tiny-math"];
    run["parts"][0]["tasks"] = {"tiny-math", "later"};
  }
  for (int shard = 0; shard < 3; ++shard) {
    write(shard, {shard, shard + 3});
    const fs::path file = path(shard) / "samples.jsonl";
    std::string later;
    for (Sample sample : read_samples(file)) {
      sample.task = "later";
      later += to_line(sample) + "\n";
    }
    write_file(file, later + read_file(file));
  }
  ASSERT_EQ(refusal({0, 1, 2}), "");
  const std::vector<Sample> samples = read_samples(folder_.path() / "out/samples.jsonl");
  ASSERT_EQ(samples.size(), 12u);
  EXPECT_EQ(samples.front().task, "tiny-math");
  EXPECT_EQ(samples.back().task, "later");
}

TEST_F(MergeTest, TheSameShardsMergeAgainIntoTheSameFolder) {
  ASSERT_EQ(refusal({0, 2}, true), "");
  EXPECT_EQ(refusal({0, 1, 2}), "");
  EXPECT_EQ(refusal({0, 1, 2}), "");
  EXPECT_EQ(read_samples(folder_.path() / "out/samples.jsonl").size(), 6u);
}

TEST_F(MergeTest, TheOutputMayBeOneOfTheShards) {
  fs::rename(path(1), folder_.path() / "out");
  fs::create_directory_symlink(folder_.path() / "out", path(1));
  EXPECT_EQ(refusal({0, 1, 2}), "");
  EXPECT_EQ(read_samples(folder_.path() / "out/samples.jsonl").size(), 6u);
}

// A full disk, as an example of what may come between samples.jsonl and run.json.
TEST_F(MergeTest, AnInterruptedMergeIntoAShardCanBeMadeAgain) {
  const fs::path out = folder_.path() / "out";
  runs_[1]["sessions"][0]["command"] = std::string(8000, 'x');
  write(1, {1, 4});
  fs::rename(path(1), out);
  fs::create_directory_symlink(out, path(1));
  const std::string own_run = read_file(out / "run.json");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 8000;  // enough for the samples alone
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = refusal({0, 1, 2});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_NE(message.find("run.json: cannot be written"), std::string::npos) << message;
  EXPECT_EQ(read_file(out / "run.json"), own_run);
  ASSERT_EQ(read_samples(out / "samples.jsonl").size(), 6u);
  const std::string samples = read_file(out / "samples.jsonl");

  ASSERT_EQ(refusal({0, 1, 2}), "");
  EXPECT_EQ(read_file(out / "samples.jsonl"), samples);
  EXPECT_EQ(read_run(out)["parts"][0]["shard"], "0/1");
  // Its own samples remain its own.
  write_file(out / "run.json", own_run);
  write(0, {0, 3, 4});
  EXPECT_NE(refusal({0, 1, 2}).find("sample 0 of 4 (tiny-math, question 4) by sample is not among"),
            std::string::npos);
}

// The samples of `out` as they were, if the merge is refused.
TEST_F(MergeTest, SamplesOfAnotherRunAreNotOverwritten) {
  const fs::path out = folder_.path() / "out", samples = out / "samples.jsonl";
  ASSERT_EQ(refusal({0, 1, 2}), "");
  Sample other;
  other.task = "mine";
  other.id = "7";
  other.method = "sample";
  const std::string line = to_line(other) + "\n";
  const Json run = read_run(out);
  const auto refused = [&](const Json& record, const char* message) {
    write_file(samples, line);
    if (record.is_null())
      fs::remove(out / "run.json");
    else
      write_file(out / "run.json", record.dump());
    for (const bool partial : {false, true}) {
      const std::string refusal_text = refusal({0, 1, 2}, partial);
      EXPECT_EQ(refusal_text.find(out.string()), 0u) << refusal_text;
      EXPECT_NE(refusal_text.find(message), std::string::npos) << refusal_text;
      EXPECT_NE(refusal_text.find("another --out"), std::string::npos) << refusal_text;
      EXPECT_EQ(read_file(samples), line);
    }
  };
  Json another = run;
  another["seed"] = 3;
  refused(another, "seed was 3");
  refused(nullptr, "has samples of another run");
  refused(run, "sample 0 of 7 (mine) by sample is in none of the shards");
  another = run;  // eval would go on in that folder with another task
  another["tasks"] = {{"mine", run["tasks"]["tiny-math"]}};
  refused(another, "is in none of the shards");
}

TEST_F(MergeTest, ProblemsOfTheUserAreNotOverwritten) {
  const std::string own = R"({"question": "mine", "answer": "2"})"
                          "\n";
  folder_.write("0/problems.jsonl", R"({"task": "tiny-math", "id": "0", "gold": "1"})");
  folder_.write("out/problems.jsonl", own);
  EXPECT_NE(refusal({0, 1, 2}).find("out/problems.jsonl: row 1: field"), std::string::npos);
  EXPECT_EQ(read_file(folder_.path() / "out/problems.jsonl"), own);
  EXPECT_FALSE(fs::exists(folder_.path() / "out/run.json"));
  folder_.write("out/problems.jsonl", R"({"task": "other", "id": "0", "gold": "1"})");
  ASSERT_EQ(refusal({0, 1, 2}), "");
  EXPECT_NE(read_file(folder_.path() / "out/problems.jsonl").find("other"), std::string::npos);
}

TEST_F(MergeTest, AFifoInThePlaceOfAFileIsRefusedBeforeAnythingIsWritten) {
  const fs::path out = folder_.path() / "out";
  fs::create_directory(out);
  ASSERT_EQ(::mkfifo((out / "report.html").c_str(), 0600), 0);
  EXPECT_NE(refusal({0, 1, 2}).find("report.html: is a device or a pipe"), std::string::npos);
  EXPECT_EQ(std::distance(fs::directory_iterator(out), {}), 1);
}

TEST_F(MergeTest, PartialFilesOfAKilledProcessGo) {
  folder_.write("out/.counterbeam-999999999-1.part", "x");
  ASSERT_EQ(refusal({0, 1, 2}), "");
  EXPECT_FALSE(fs::exists(folder_.path() / "out/.counterbeam-999999999-1.part"));
}

TEST(RunParts, ShardsOfDifferentCountsCoverTheWhole) {
  const auto part = [](int shard, int shards, int samples = 1) {
    RunPart one;
    one.tasks = {"t"};
    one.methods = {"m"};
    one.samples = samples;
    one.shard = shard;
    one.shards = shards;
    return one;
  };
  EXPECT_TRUE(missing_shards({part(0, 2), part(1, 4), part(3, 4)}).empty());
  EXPECT_EQ(missing_shards({part(0, 2), part(1, 4)}), std::vector<std::string>{"3/4"});
  EXPECT_EQ(folded({part(0, 2), part(1, 2)}), std::vector<RunPart>{part(0, 1)});
  EXPECT_EQ(folded({part(0, 2), part(1, 2, 4)}).size(), 2u) << "other numbers of samples";
}

}  // namespace
}  // namespace counterbeam
