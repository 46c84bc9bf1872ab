// Every step of a tokenizer.json that the shipped tokenizers do not use, on a vocabulary so small
// that the ids can be worked out by hand.
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/temporary_folder.h"
#include "text/tokenizer.h"

namespace counterbeam {
namespace {

using Ids = std::vector<TokenId>;

std::string file_with(const std::string& member, const std::string& merges = R"("a b", "a !")") {
  return R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "!": 2, "ab": 3, "a!": 4, "_": 5, " ": 6},
             "merges": [)" +
         merges + "]}" + (member.empty() ? "" : ", ") + member + "}";
}

Tokenizer with(const std::string& member, const std::string& config = "") {
  return Tokenizer::parse(file_with(member), "tokenizer.json", config, "tokenizer_config.json");
}

Tokenizer with_split(const std::string& step) {
  return with("\"pre_tokenizer\": " + step);
}

TEST(TokenizerSteps, PreTokenizersCutWhereTheySay) {
  EXPECT_EQ(with("").encode("a!"), (Ids{4})) << "without a step";
  EXPECT_EQ(with_split(R"({"type": "Punctuation"})").encode("a!"), (Ids{0, 2}));
  EXPECT_EQ(with_split(R"({"type": "Punctuation", "behavior": "MergedWithPrevious"})").encode("a!"),
            (Ids{4}));
  EXPECT_EQ(with_split(R"({"type": "CharDelimiterSplit", "delimiter": "!"})").encode("a!b"),
            (Ids{0, 1}));
  EXPECT_EQ(with_split(R"({"type": "Split", "pattern": {"String": "!"}, "behavior": "Removed",
                           "invert": false})")
                .encode("a!b"),
            (Ids{0, 1}));
  EXPECT_EQ(with_split(R"({"type": "FixedLength"})").encode("aaaaab"), (Ids{0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(with_split(R"({"type": "FixedLength", "length": 6})").encode("aaaaab"),
            (Ids{0, 0, 0, 0, 3}));
  EXPECT_EQ(with_split(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "never",
                           "add_prefix_space": false})")
                .encode("a b"),
            (Ids{0, 5, 1}));
  EXPECT_EQ(with_split(R"({"type": "Metaspace", "replacement": "_"})").encode("a b"),
            (Ids{5, 0, 5, 1}));
}

TEST(TokenizerSteps, NormalizerOfBert) {
  const auto bert = [](const char* accents, const char* lowercase) {
    return with(fmt::format(
        R"("normalizer": {{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": {}, "lowercase": {}}})",
        accents, lowercase));
  };
  EXPECT_EQ(bert("null", "true").encode("\u00c1B"), (Ids{3})) << "accents go with capitals";
  EXPECT_EQ(bert("false", "true").encode("AB"), (Ids{3}));
  EXPECT_EQ(bert("true", "false").encode("\u00e1b"), (Ids{3}));
}

TEST(TokenizerSteps, WordsOfTheirOwn) {
  const Tokenizer tokenizer = with(
      R"("added_tokens": [{"id": 7, "content": "x", "special": false, "single_word": true},
                          {"id": 7, "content": "x", "special": false}, {"id": 8, "content": "", "special": false}])");
  EXPECT_EQ(tokenizer.encode("x"), (Ids{7}));
  EXPECT_EQ(tokenizer.encode("a x!"), (Ids{0, 6, 7, 2}));
  EXPECT_EQ(tokenizer.encode("ax"), (Ids{0})) << "the letter x is in no token";
  EXPECT_EQ(tokenizer.encode("xa"), (Ids{0}));
  EXPECT_EQ(tokenizer.encode("x\u200d"), (Ids{})) << "the joiners belong to words";
  EXPECT_EQ(tokenizer.encode("\u200cx"), (Ids{}));
  EXPECT_EQ(tokenizer.size(), 8u) << "the second and the empty one are left out";
}

TEST(TokenizerSteps, PostProcessorsAndDecoders) {
  EXPECT_EQ(
      with(R"("post_processor": {"type": "BertProcessing", "cls": ["a", 0], "sep": ["b", 1]})")
          .encode("ab", {.add_special_tokens = true}),
      (Ids{0, 3, 1}));
  const auto decoded = [](const std::string& decoder) {
    return with("\"decoder\": " + decoder).decode({{5, 0, 5, 1}});
  };
  EXPECT_EQ(decoded(R"({"type": "Metaspace", "replacement": "_"})"), "a b");
  EXPECT_EQ(decoded(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "never"})"),
            " a b");
  EXPECT_EQ(decoded(R"({"type": "Replace", "pattern": {"String": "_"}, "content": "-"})"), "-a-b");
}

TEST(TokenizerSteps, EndsByTheConfig) {
  EXPECT_EQ(with("", R"({"add_eos_token": true, "eos_token": "b"})")
                .encode("a", {.add_special_tokens = true}),
            (Ids{0, 1}));
  const testing::TemporaryFolder folder;
  folder.write("tokenizer.json", file_with("", R"("#version: 0.2", "a b")"));
  EXPECT_EQ(Tokenizer::load(folder.path()).encode("ab", {.add_special_tokens = true}), (Ids{3}));
  folder.write("tokenizer_config.json",
               R"({"add_bos_token": true, "bos_token": {"content": "a"}})");
  EXPECT_EQ(Tokenizer::load(folder.path()).encode("ab", {.add_special_tokens = true}), (Ids{0, 3}));
}

}  // namespace
}  // namespace counterbeam
