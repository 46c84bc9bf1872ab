// The program under a limit on its address space: every refusal of memory or threads is a message
// and exit code 1. All points of failure are visited by tests/faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "support/run_command.h"

namespace counterbeam {
namespace {

using testing::CommandResult;
using ::testing::HasSubstr;
using testing::run_command;
using testing::TemporaryFolder;

CommandResult run_within(int kibibytes, const std::string& arguments) {
  return run_command("ulimit -v " + std::to_string(kibibytes) + "; '" COUNTERBEAM_BINARY "' " +
                     arguments);
}

// A sanitizer reserves terabytes of addresses and starts under no limit.
#ifdef COUNTERBEAM_SANITIZED
#define CB_NEEDS_PLAIN_MEMORY() GTEST_SKIP() << "a sanitizer needs more addresses than the limit"
#else
#define CB_NEEDS_PLAIN_MEMORY() static_cast<void>(0)
#endif

const std::string kAsk = "ask 'Compute 1 + 1.' --method sample --max-tokens 4 -q --device cpu ";

TEST(MemoryLimit, EveryLimitEndsInAMessageOrAnAnswer) {
  CB_NEEDS_PLAIN_MEMORY();
  int refused = 0, answered = 0;
  for (int mebibytes = 24; mebibytes <= 640; mebibytes += mebibytes < 160 ? 17 : 96) {
    const CommandResult result =
        run_within(mebibytes << 10, kAsk + "--threads 3 --cache-memory 64M");
    if (result.code == 127) continue;  // too little to load the program
    refused += result.code == 1;
    answered += result.code == 0;
    EXPECT_TRUE(result.code == 0 || result.code == 1) << mebibytes << " MiB: " << result.code;
    if (result.code == 1) {
      EXPECT_THAT(result.err, HasSubstr("counterbeam: ")) << mebibytes;
    }
  }
  EXPECT_GT(refused, 2);
  EXPECT_GT(answered, 0);
}

TEST(MemoryLimit, ThreadsThatTheSystemRefusesAreAnError) {
  CB_NEEDS_PLAIN_MEMORY();
  const CommandResult threads = run_within(1500 << 10, kAsk + "--threads 1024 --cache-memory 16M");
  EXPECT_EQ(threads.code, 1);
  EXPECT_THAT(threads.err, HasSubstr("a thread cannot be started"));
  EXPECT_THAT(threads.err, HasSubstr("--threads"));
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 300; ++i)
    lines += R"({"question": "Compute 1 + 1."})"
             "\n";
  folder.write("questions", lines);
  const CommandResult searches =
      run_within(1500 << 10,
                 "ask --jsonl --concurrency 4096 --method sample --max-tokens 2 -q --device cpu "
                 "--cache-memory 16M --threads 1 < '" +
                     folder.path().string() + "/questions'");
  EXPECT_EQ(searches.code, 1);
  EXPECT_THAT(searches.err, HasSubstr("a thread cannot be started"));
}

}  // namespace
}  // namespace counterbeam
