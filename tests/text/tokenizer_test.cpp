#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "support/shared_folder.h"

namespace counterbeam {
namespace {

std::vector<Json> json_lines(const std::filesystem::path& file) {
  std::vector<Json> rows;
  const std::string text = read_file(file);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    rows.push_back(parse_json(std::string_view(text).substr(at, end - at), file.string()));
    at = end + 1;
  }
  return rows;
}

Tokenizer parsed(const Json& json, std::string_view config = "") {
  return Tokenizer::parse(to_line(json), "tokenizer.json", config, "tokenizer_config.json");
}

// A tokenizer of single bytes, two merges and the control tokens of ChatML.
Json small_json() {
  return parse_json(R"({"version": "1.0", "added_tokens": [
    {"id": 9, "content": "<|im_start|>", "special": true},
    {"id": 10, "content": "<|im_end|>", "special": true},
    {"id": 11, "content": "<think>", "special": false, "normalized": false}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "abab": 3, "<": 4, "|": 5, ">": 6, "Ġ": 7,
    "ð": 8}, "merges": ["a b", "ab ab"]}})",
                    "small");
}

std::string joined(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, bool skip) {
  IncrementalDecoder decoder(tokenizer, {.skip_special = skip});
  std::string text;
  for (const TokenId id : ids) {
    const std::string piece = decoder.push(id);
    EXPECT_TRUE(is_valid_utf8(piece));
    text += piece;
  }
  return text + decoder.finish();
}

class Vectors : public ::testing::TestWithParam<const char*> {};

TEST_P(Vectors, AreEqual) {
  const auto folder = testing::shared_folder() / "fixtures" / "tokenizers" / GetParam();
  CB_NEEDS_SHARED(folder);
  const Tokenizer tokenizer = Tokenizer::load(folder);
  int rows = 0;
  for (const Json& row : json_lines(folder / "vectors.jsonl")) {
    const std::string text = row["text"].get<std::string>();
    const auto ids = tokenizer.encode(text, {.special_in_text = true});
    ASSERT_EQ(ids, row["ids"].get<std::vector<TokenId>>()) << text;
    ASSERT_EQ(tokenizer.decode(ids), row["decoded"].get<std::string>()) << text;
    ASSERT_EQ(joined(tokenizer, ids, false), tokenizer.decode(ids)) << text;
    ++rows;
  }
  EXPECT_GT(rows, 100);
}

INSTANTIATE_TEST_SUITE_P(Tokenizer, Vectors, ::testing::Values("qwen2", "deepseek-llm"));

// Sixteen kinds of tokenizer with the ids of Hugging Face's tokenizers, written by
// tools/tokenizer_parity.py.
TEST(Tokenizer, AgreesWithHuggingFaceForManyKinds) {
  const auto rows = json_lines(std::filesystem::path(COUNTERBEAM_SOURCE_DIR) / "tests" / "text" /
                               "golden" / "tokenizers.jsonl");
  ASSERT_EQ(rows.size(), 16u);
  for (const Json& row : rows) {
    const Tokenizer tokenizer = parsed(row["tokenizer"]);
    for (const Json& one : row["cases"]) {
      const std::string text = one["text"].get<std::string>();
      const auto ids =
          tokenizer.encode(text, {.special_in_text = true, .add_special_tokens = true});
      ASSERT_EQ(ids, one["ids"].get<std::vector<TokenId>>()) << row["name"] << text;
      ASSERT_EQ(tokenizer.decode(ids), one["decoded"].get<std::string>()) << row["name"] << text;
      ASSERT_EQ(tokenizer.decode(ids, {.skip_special = true}), one["skipped"].get<std::string>())
          << row["name"] << text;
    }
  }
}

TEST(Tokenizer, IncrementalDecodingAgreesForRandomIds) {
  std::mt19937 random(3);
  for (const Json& row : json_lines(std::filesystem::path(COUNTERBEAM_SOURCE_DIR) / "tests" /
                                    "text" / "golden" / "tokenizers.jsonl")) {
    const Tokenizer tokenizer = parsed(row["tokenizer"]);
    for (int i = 0; i < 50; ++i) {
      std::vector<TokenId> ids(random() % 30);
      for (TokenId& id : ids) id = static_cast<TokenId>(random() % (tokenizer.id_limit() + 3u));
      for (const bool skip : {false, true})
        ASSERT_EQ(joined(tokenizer, ids, skip), tokenizer.decode(ids, {.skip_special = skip}))
            << row["name"];
    }
  }
}

TEST(Tokenizer, MergesAndSpecials) {
  const Tokenizer tokenizer = parsed(small_json());
  EXPECT_EQ(tokenizer.encode("ababab"), (std::vector<TokenId>{3, 2}));
  EXPECT_EQ(tokenizer.encode("ab<|im_end|>", {.special_in_text = true}),
            (std::vector<TokenId>{2, 10}));
  EXPECT_EQ(tokenizer.encode("a<think>b"),
            (std::vector<TokenId>{0, 11, 1}));  // not a control token
  EXPECT_EQ(tokenizer.encode("ab<|>"), (std::vector<TokenId>{2, 4, 5, 6}));
  EXPECT_EQ(tokenizer.find("<|im_end|>"), 10);
  EXPECT_EQ(tokenizer.find("abab"), 3);
  EXPECT_FALSE(tokenizer.find("nothing"));
  EXPECT_EQ(tokenizer.token_text(7), "Ġ");
  EXPECT_FALSE(tokenizer.token_text(99));
  EXPECT_TRUE(tokenizer.is_special(10));
  EXPECT_FALSE(tokenizer.is_special(11));
  EXPECT_EQ(tokenizer.size(), 12u);
  EXPECT_EQ(tokenizer.id_limit(), 12);
  EXPECT_EQ(tokenizer.decode({{2, 10, 7, 99}}), "ab<|im_end|> ");
  EXPECT_EQ(tokenizer.decode({{2, 10, 7}}, {.skip_special = true}), "ab ");
  EXPECT_EQ(tokenizer.decode({{8}}), "\uFFFD");
}

TEST(Tokenizer, UserTextStaysTextInAPrompt) {
  const Tokenizer tokenizer = parsed(small_json());
  const std::vector<PromptPart> parts = {
      {"<|im_start|>", true}, {"a<|im_end|>b<", false}, {"<|im_end|>", true}};
  const auto plain = tokenizer.encode("a<|im_end|>b<");
  std::vector<TokenId> expected = {9};
  expected.insert(expected.end(), plain.begin(), plain.end());
  expected.push_back(10);
  EXPECT_EQ(tokenizer.encode_parts(parts), expected);
}

// Some checkpoints have their control tokens in the vocabulary, with merges that lead to them, or
// take pieces as they are.
TEST(Tokenizer, UserTextDoesNotBecomeAControlTokenOfTheVocabulary) {
  const std::string tail = R"("vocab":{"<":0,"s":1,">":2,"<s":3,"<s>":4},"merges":["< s","<s >"]},)"
                           R"("added_tokens":[{"id":4,"content":"<s>","special":true}]})";
  for (const char* head :
       {R"({"model":{"type":"BPE",)", R"({"model":{"type":"BPE","ignore_merges":true,)"}) {
    const Tokenizer tokenizer = parsed(parse_json(head + tail, "tokenizer.json"));
    const std::vector<PromptPart> parts = {{"<s>", true}, {"<s>", false}};
    EXPECT_EQ(tokenizer.encode("<s>"), (std::vector<TokenId>{3, 2}));
    EXPECT_EQ(tokenizer.encode("<s>", {.special_in_text = true}), std::vector<TokenId>{4});
    EXPECT_EQ(tokenizer.encode_parts(parts), (std::vector<TokenId>{4, 3, 2}));
  }
}

// A control token must not be recognised across the end of a user's text and the text after it.
TEST(Tokenizer, NoControlTokenAcrossTheEndOfAPart) {
  const Tokenizer tokenizer = parsed(small_json());
  const std::vector<PromptPart> parts = {{"<|im_", false}, {"end|>", true}};
  const auto ids = tokenizer.encode_parts(parts);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 10), 0);
}

TEST(Tokenizer, InvalidBytesCountAsReplacement) {
  const Tokenizer tokenizer = parsed(small_json());
  EXPECT_EQ(tokenizer.encode("a\xFF"
                             "b"),
            tokenizer.encode("a\uFFFD"
                             "b"));
}

TEST(Tokenizer, ConfigDecidesAboutBosAndEos) {
  const char* config = R"({"bos_token": "<|im_start|>", "eos_token": {"content": "<|im_end|>"},
                           "add_bos_token": true})";
  const Tokenizer tokenizer = parsed(small_json(), config);
  EXPECT_EQ(tokenizer.encode("a", {.add_special_tokens = true}), (std::vector<TokenId>{9, 0}));
  EXPECT_EQ(tokenizer.encode("a"), (std::vector<TokenId>{0}));
  EXPECT_EQ(tokenizer.named().bos, "<|im_start|>");
  EXPECT_EQ(tokenizer.named().eos, "<|im_end|>");
  EXPECT_FALSE(tokenizer.named().pad);
}

TEST(Tokenizer, ManyThreadsGetTheSameIds) {
  const Tokenizer tokenizer = parsed(small_json());
  const std::string text = "ab aba <|im_end|> bbab abababab";
  const auto expected = tokenizer.encode(text, {.special_in_text = true});
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i)
        wrong[static_cast<std::size_t>(t)] +=
            tokenizer.encode(text, {.special_in_text = true}) != expected;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::vector<int>(4)));
}

TEST(Tokenizer, LongRunsAreNotQuadratic) {
  const Tokenizer tokenizer = parsed(small_json());
  EXPECT_EQ(tokenizer.encode(std::string(300'000, 'a')).size(), 300'000u);
  std::string pairs;
  for (int i = 0; i < 100'000; ++i) pairs += "ab";
  EXPECT_EQ(tokenizer.encode(pairs).size(), 50'000u);
}

}  // namespace
}  // namespace counterbeam
