// The folder of a run: one process at a time uses it, files of the user stay, and a run goes on
// only where its own samples are.
#include "eval/run_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/folder_lock.h"
#include "base/json.h"
#include "base/output_file.h"
#include "eval/merge.h"
#include "eval/samples.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

using testing::TemporaryFolder;

TEST(RunFolder, OneProcessAtATime) {
  const TemporaryFolder folder;
  {
    const FolderLock lock(folder.path() / "run");
    try {
      const FolderLock second(folder.path() / "run");
      ADD_FAILURE() << "locked twice";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("another process"), std::string::npos);
    }
  }
  EXPECT_NO_THROW(FolderLock(folder.path() / "run"));
}

TEST(RunFolder, NoEmptyFolderIsLeft) {
  const TemporaryFolder folder;
  namespace fs = std::filesystem;
  fs::create_directory(folder.path() / "mine");
  { const FolderLock lock(folder.path() / "mine"); }
  EXPECT_TRUE(fs::exists(folder.path() / "mine")) << "it was there before";
  for (const char* name : {"run", "a/b/run", "c/run/"}) {
    const FolderLock lock(folder.path() / name);
    EXPECT_TRUE(fs::exists(folder.path() / name));
  }
  EXPECT_FALSE(fs::exists(folder.path() / "run"));
  EXPECT_FALSE(fs::exists(folder.path() / "a"));
  EXPECT_FALSE(fs::exists(folder.path() / "c"));
  {
    const FolderLock lock(folder.path() / "kept" / "run");
    write_file(folder.path() / "kept" / "note", "x");
  }
  EXPECT_TRUE(fs::exists(folder.path() / "kept" / "note"));
  EXPECT_FALSE(fs::exists(folder.path() / "kept" / "run"));
}

TEST(RunFolder, AMergeThatIsRefusedLeavesNoFolder) {
  const TemporaryFolder folder;
  EXPECT_THROW(merge_runs({folder.path() / "absent"}, folder.path() / "whole", false), Error);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "whole"));
}

TEST(RunFolder, WhatIsNoSamplesFileIsNamed) {
  const TemporaryFolder folder;
  const std::filesystem::path samples = folder.path() / "samples.jsonl";
  EvalOptions options;
  options.out = folder.path();
  const auto refused = [&](const char* message) {
    for (const bool resume : {false, true}) {
      options.resume = resume;
      try {
        claim_folder(Json::object(), {}, options);
        ADD_FAILURE() << message;
      } catch (const BadInput& error) {
        EXPECT_EQ(std::string(error.what()), samples.string() + message);
      }
    }
    std::filesystem::remove(samples);
  };
  std::filesystem::create_directory(samples);
  refused(": is a folder, not a file");
  ASSERT_EQ(::mkfifo(samples.c_str(), 0600), 0);
  refused(": is a device or a pipe, not a regular file");
  std::filesystem::create_symlink("/dev/zero", samples);
  refused(": is a device or a pipe, not a regular file");
}

TEST(RunFolder, WhatIsNoFileOfARunIsRefusedBeforeAnythingIsWritten) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  EvalOptions options;
  options.out = folder.path();
  for (const char* name :
       {"run.json", "problems.jsonl", "samples.jsonl", "summary.json", "report.html"}) {
    const fs::path path = folder.path() / name;
    for (const int kind : {0, 1, 2}) {
      if (kind == 0) {
        ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
      }
      if (kind == 1) fs::create_symlink("/dev/zero", path);
      if (kind == 2) fs::create_directory(path);
      try {
        claim_folder(Json::object(), {}, options);
        ADD_FAILURE() << path << kind;
      } catch (const BadInput& error) {
        EXPECT_EQ(std::string(error.what()),
                  path.string() + (kind == 2 ? ": is a folder, not a file"
                                             : ": is a device or a pipe, not a regular file"));
      }
      EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
      fs::remove(path);
    }
  }
}

TEST(RunFolder, ProblemsOfTheUserAreNotOverwritten) {
  const TemporaryFolder folder;
  const auto own = folder.write("problems.jsonl", R"({"question": "mine", "answer": "2"})");
  EvalOptions options;
  options.out = folder.path();
  EXPECT_THROW(claim_folder(Json::object(), {}, options), BadInput);
  EXPECT_EQ(read_file(own), R"({"question": "mine", "answer": "2"})");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "run.json"));
}

TEST(RunFolder, PartialFilesOfKilledProcessesGoAndOthersStay) {
  const TemporaryFolder folder;
  EvalOptions options;
  options.out = folder.path();
  for (const char* place : {"", "traces/"})
    for (const char* name : {".counterbeam-999999999-1.part", "mine.part"})
      folder.write(std::string(place) + name, "x");
  claim_folder(Json::object(), {}, options);
  for (const char* place : {"", "traces/"}) {
    EXPECT_FALSE(std::filesystem::exists(folder.path() / place / ".counterbeam-999999999-1.part"));
    EXPECT_TRUE(std::filesystem::exists(folder.path() / place / "mine.part"));
  }
}

// What is compared is tested with eval/provenance.h.
TEST(RunFolder, ResumingRequiresTheSameSettings) {
  const TemporaryFolder folder;
  std::vector<TaskData> tasks = {{"math500", Judging::Math, std::vector<Problem>(2)}};
  for (int i = 0; i < 2; ++i) tasks[0].problems[static_cast<std::size_t>(i)].id = std::to_string(i);
  EvalOptions options;
  options.out = folder.path();
  const auto run = [](const char* weights) -> Json {
    return {{"format", 2},
            {"model", "m"},
            {"fingerprint", {{"weights", weights}}},
            {"tasks", {{"math500", {{"problems", 2}}}}},
            {"methods", Json::object()},
            {"parts", {{{"tasks", {"math500"}}, {"methods", {"sample"}}}}},
            {"sessions", Json::array()}};
  };
  claim_folder(run("a"), tasks, options);
  claim_folder(run("b"), tasks, options);  // allowed: there are no samples yet
  Sample sample;
  sample.task = "math500";
  sample.id = "0";
  sample.method = "sample";
  folder.write("samples.jsonl", to_line(sample) + "\n");
  EXPECT_THROW(claim_folder(run("b"), tasks, options), Error) << "without --resume";
  options.resume = true;
  EXPECT_NO_THROW(claim_folder(run("b"), tasks, options));
  EXPECT_THROW(claim_folder(run("a"), tasks, options), Error) << "another model";
  std::filesystem::remove(folder.path() / "run.json");
  EXPECT_THROW(claim_folder(run("b"), tasks, options), Error) << "samples of an unknown run";
}

}  // namespace
}  // namespace counterbeam
