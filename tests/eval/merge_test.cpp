// Shards merge if they are of one run and leave no gap; every gap is named.
#include "eval/merge.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "eval/parts.h"
#include "eval/provenance.h"
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
  for (const char* field : {"dtype", "seed", "longest_sequence"}) {
    const Json before = runs_[1];
    runs_[1][field] = 3;
    write(1, {1, 4});
    const std::string message = refusal({0, 1, 2}, true);
    EXPECT_NE(message.find(std::string("\n  ") + field + " was "), std::string::npos) << message;
    EXPECT_NE(message.find("is not of the same run as"), std::string::npos) << message;
    runs_[1] = before;
  }
}

TEST_F(MergeTest, TheSameSampleTwiceIsRefused) {
  EXPECT_NE(refusal({0, 0}).find("is also in"), std::string::npos);
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
