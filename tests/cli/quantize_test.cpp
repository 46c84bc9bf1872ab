// Tests the command quantize: the program that is killed and started again, and what it says.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/file.h"
#include "base/json.h"
#include "base/list_folder.h"
#include "support/run_command.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
using testing::CommandResult;
using ::testing::HasSubstr;
using testing::run_command;
using testing::run_counterbeam;
using testing::TemporaryFolder;

std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const fs::path& path : list_folder(folder))
    files[path.filename().string()] = fs::is_directory(path) ? "a folder" : read_file(path);
  return files;
}

class Quantize : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return (folder_.path() / name).string(); }
  CommandResult quantize(const std::string& arguments) const {
    return run_counterbeam("--threads 2 quantize " + arguments);
  }
  TemporaryFolder folder_;
};

TEST_F(Quantize, MakesAModelThatAnswers) {
  for (const std::string to : {"fp8", "int8", "int4"}) {
    const CommandResult made = quantize("--to " + to + " tiny-dense " + at(to));
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr(": 49 matrices in " + to));
    const CommandResult asked =
        run_counterbeam("-q --model " + at(to) + " ask 'Compute 12 + 3 * 7.' --method greedy");
    EXPECT_EQ(asked.code, 0) << asked.err;
    EXPECT_THAT(asked.out, HasSubstr("boxed{")) << to;
    EXPECT_THAT(run_counterbeam("--model " + at(to) + " inspect").out,
                HasSubstr("compressed-tensors"));
    EXPECT_THAT(quantize("--to " + to + " tiny-dense " + at(to)).out,
                HasSubstr("is complete already"));
  }
  const CommandResult twice = quantize("--to int4 " + at("int8") + " " + at("twice"));
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, HasSubstr("the model is quantised already"));
  EXPECT_FALSE(fs::exists(at("twice")));
}

TEST_F(Quantize, PrintsOneJsonObject) {
  const CommandResult made = quantize("--json --to int4 --group 32 tiny-hybrid " + at("out"));
  ASSERT_EQ(made.code, 0) << made.err;
  const Json json = parse_json(made.out, "output");
  EXPECT_EQ(json["matrices"], 50);
  EXPECT_EQ(json["smaller_groups"], 0);
  EXPECT_LT(json["bytes"], json["source_bytes"]);
  EXPECT_LT(json["relative_error"], 0.01);
  const Json groups = read_json_file(at("out/config.json"))["quantization_config"]["config_groups"];
  EXPECT_EQ(groups["group_0"]["weights"]["group_size"], 32);
}

// Wherever it is killed, the next run ends with the same bytes, and until then nothing looks whole.
TEST_F(Quantize, AKilledRunContinues) {
  ASSERT_EQ(quantize("--to int4 tiny-hybrid " + at("whole")).code, 0);
  const auto whole = files_of(at("whole"));
  int killed = 0;
  for (int milliseconds = 5; milliseconds < 200; milliseconds += 25) {
    const CommandResult first = run_command(fmt::format(
        "timeout -s KILL 0.{:03} '" COUNTERBEAM_BINARY "' quantize --to int4 tiny-hybrid '{}'",
        milliseconds, at("out")));
    if (first.code != 0) {
      ++killed;
      if (fs::exists(at("out/config.json"))) {  // killed after its last file
        EXPECT_EQ(read_file(at("out/config.json")), whole.at("config.json"));
      }
    }
    const CommandResult second = quantize("--to int4 tiny-hybrid " + at("out"));
    ASSERT_EQ(second.code, 0) << second.err;
    EXPECT_EQ(files_of(at("out")), whole);
    fs::remove_all(at("out"));
  }
  EXPECT_GT(killed, 0);
}

TEST_F(Quantize, RefusesBadUsage) {
  folder_.write("mine/notes.txt", "mine");
  folder_.write("model.gguf", "GGUF");
  const std::vector<std::pair<std::string, std::string>> mistakes{
      {"tiny-dense " + at("out"), "--to"},
      {"--to int4 tiny-dense", "OUT"},
      {"--to int3 tiny-dense " + at("out"), "allowed: fp8, int8, int4"},
      {"--to int4 --group 100 tiny-dense " + at("out"), "allowed: 32, 64, 128"},
      {"--to fp8 --group 64 tiny-dense " + at("out"), "--group is for int8 and int4"},
      {"--to int4 --model x tiny-dense " + at("out"), "leave --model out"},
      {"--to int4 --engine http://127.0.0.1:9 tiny-dense " + at("out"), "--engine: this needs"},
      {"--to int4 tiny-dense " + at("mine"), "holds files already"},
      {"--to int4 tiny-dense " + at("mine/notes.txt"), "is a file"},
      {"--to int4 " + at("absent") + " " + at("out"), "absent"},
      {"--to int4 " + at("model.gguf") + " " + at("out"), "quantize reads Hugging Face folders"},
      {"--to int4 --calibrate " + at("absent.txt") + " tiny-dense " + at("out"), "absent.txt"},
  };
  for (const auto& [arguments, message] : mistakes) {
    const CommandResult result = quantize(arguments);
    EXPECT_EQ(result.code, 2) << arguments << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr(message)) << arguments;
    EXPECT_FALSE(fs::exists(at("out"))) << arguments;
  }
}

TEST_F(Quantize, SaysThatTheDiskIsFull) {
  // 3 MiB are needed; the limit on the size of a file stands for the disk.
  const CommandResult full = run_command("ulimit -f 1024; trap '' XFSZ; '" COUNTERBEAM_BINARY
                                         "' quantize --to int4 tiny-dense '" +
                                         at("out") + "'");
  EXPECT_EQ(full.code, 1);
  EXPECT_THAT(full.err, HasSubstr("cannot be written: File too large; the same command continues"));
  const CommandResult then = quantize("--to int4 tiny-dense " + at("out"));
  EXPECT_EQ(then.code, 0) << then.err;
}

}  // namespace
}  // namespace counterbeam
