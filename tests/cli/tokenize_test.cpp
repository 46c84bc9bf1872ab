// Tests the command tokenize: one output line per input line, and lines that cannot be read.
#include <gtest/gtest.h>

#include "base/json.h"
#include "support/run_command.h"

namespace counterbeam {
namespace {

using testing::CommandResult;
using testing::run_counterbeam;
using testing::TemporaryFolder;

class TokenizeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_.write("tokenizer.json", R"({"added_tokens": [
      {"id": 5, "content": "<s>", "special": true}, {"id": 6, "content": "</s>", "special": true}],
      "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
      "decoder": {"type": "ByteLevel"},
      "post_processor": {"type": "RobertaProcessing", "cls": ["<s>", 5], "sep": ["</s>", 6]},
      "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "s": 3, "<": 4}, "merges": ["a b"]}})");
  }
  CommandResult tokenize(const std::string& arguments, const std::string& input) const {
    const auto file = folder_.write("input", input);
    return run_counterbeam("tokenize --model '" + folder_.path().string() + "' " + arguments +
                           " < '" + file.string() + "'");
  }
  TemporaryFolder folder_;
};

TEST_F(TokenizeTest, OneOutputLinePerInputLine) {
  const std::string lines =
      "{\"text\": \"abb<s>\"}\n\n{\"text\": \"\"}\n{\"text\": \"b\", \"x\": 1}\r\n";
  const auto plain = tokenize("--jsonl", lines);
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(plain.out,
            "{\"ids\":[2,1,5],\"decoded\":\"abb<s>\"}\n{\"ids\":[],\"decoded\":\"\"}\n"
            "{\"ids\":[1],\"decoded\":\"b\"}\n");
  EXPECT_EQ(tokenize("--jsonl --no-special", "{\"text\": \"<s>\"}").out,
            "{\"ids\":[4,3],\"decoded\":\"<s\"}\n");  // ">" is not in the vocabulary
  EXPECT_EQ(tokenize("--jsonl --add-special", "{\"text\": \"ab\"}").out,
            "{\"ids\":[5,2,6],\"decoded\":\"<s>ab</s>\"}\n");
  EXPECT_EQ(tokenize("ab --json", "").out, "{\"ids\":[2],\"decoded\":\"ab\"}\n");
  EXPECT_EQ(tokenize("- --json", "ab").out, "{\"ids\":[2],\"decoded\":\"ab\"}\n");
}

TEST_F(TokenizeTest, ABadLineIsNamed) {
  for (const char* bad :
       {"{\"text\": 3}", "[]", "{}", "\"ab\"", "{\"text\": \"a\"", "\xFF", "null"}) {
    const auto result = tokenize("--jsonl", "{\"text\": \"ab\"}\n" + std::string(bad) + "\n");
    EXPECT_EQ(result.code, 2) << bad;
    EXPECT_NE(result.err.find("line 2 of standard input"), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "{\"ids\":[2],\"decoded\":\"ab\"}\n") << bad;
  }
}

TEST_F(TokenizeTest, NeedsExactlyOneSourceOfText) {
  for (const char* arguments : {"", "--jsonl ab"}) {
    const auto result = tokenize(arguments, "");
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err.find("give a text or --jsonl"), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace counterbeam
