// Every command takes a GGUF file where it takes a folder.
#include <gtest/gtest.h>

#include "base/json.h"
#include "model/gguf_files.h"
#include "support/run_command.h"

namespace counterbeam {
namespace {

using namespace testing;

class GgufCommands : public ::testing::Test {
 protected:
  GgufCommands()
      : model_(folder_.write("small.gguf",
                             stored_as(small_gguf("qwen2", 64), GgmlType::Q8_0).bytes())) {}
  CommandResult run(const std::string& rest) const {
    return run_counterbeam("--device cpu --model '" + model_.string() + "' " + rest);
  }

  TemporaryFolder folder_;
  std::filesystem::path model_;
};

TEST_F(GgufCommands, Inspect) {
  const auto result = run("inspect --json");
  ASSERT_EQ(result.code, 0) << result.err;
  const Json json = parse_json(result.out, "output");
  EXPECT_EQ(json["name"], "A small model");
  EXPECT_EQ(json["source"], model_.string());
  EXPECT_EQ(json["architecture"], "Qwen2");
  EXPECT_EQ(json["quantised"], "gguf Q8_0");
  EXPECT_EQ(json["tokenizer"], 11);
  EXPECT_EQ(json["chat_template"], true);
  EXPECT_EQ(json["stop_tokens"], Json::array({10}));
}

TEST_F(GgufCommands, TokenizeAndRender) {
  const auto tokenized = run("tokenize --json 'abca'");
  ASSERT_EQ(tokenized.code, 0) << tokenized.err;
  EXPECT_EQ(parse_json(tokenized.out, "output")["ids"], Json::array({9, 0}));
  const auto rendered = run("render abc");
  ASSERT_EQ(rendered.code, 0) << rendered.err;
  EXPECT_EQ(rendered.out, "abc<end>");
}

TEST_F(GgufCommands, AskAndLogits) {
  const auto asked = run("ask --json --method greedy --max-tokens 4 abc");
  ASSERT_EQ(asked.code, 0) << asked.err;
  const auto ids = folder_.write("ids.json", "[1, 2, 3]").string();
  const auto logits =
      run("logits --json --ids '" + ids + "' --out '" + (folder_.path() / "x.npy").string() + "'");
  ASSERT_EQ(logits.code, 0) << logits.err;
  EXPECT_EQ(parse_json(logits.out, "output")["vocab"], 12);
}

TEST_F(GgufCommands, ABadFileIsBadInput) {
  for (const std::string command : {"inspect", "ask abc", "tokenize abc"}) {
    folder_.write("small.gguf", "GGUF");
    const auto result = run(command);
    EXPECT_EQ(result.code, 2) << command;
    EXPECT_NE(result.err.find(model_.string() + ": ends at byte 4, inside the version"),
              std::string::npos)
        << result.err;
  }
}

}  // namespace
}  // namespace counterbeam
