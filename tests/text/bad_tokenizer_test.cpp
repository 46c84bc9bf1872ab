// Malformed tokenizer.json and tokenizer_config.json: each error names the file, the field and the
// value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/json.h"
#include "support/allocation_watch.h"
#include "support/temporary_folder.h"
#include "text/tokenizer.h"

namespace counterbeam {
namespace {

constexpr std::string_view kModel =
    R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]})";

std::string with(std::string_view member) {
  return "{" + std::string(member) + (member.empty() ? "" : ",") +
         "\"model\":" + std::string(kModel) + "}";
}

std::string model(std::string_view text) {
  return "{\"model\":" + std::string(text) + "}";
}

struct BadTokenizer {
  std::string json;
  std::string fragment;  // expected in the message
};

std::vector<BadTokenizer> bad_files() {
  return {
      // JSON itself
      {"", "tokenizer.json: byte 0"},
      {"[]", "must be an object"},
      {"{", "found the end"},
      {with("") + "x", "nothing may follow"},
      {"{\"model\":" + std::string(2000, '['), "nested deeper"},
      {"{\"\xFF\":1}", "not valid UTF-8"},
      {R"({"model":{"type":"BPE","vocab":{"\ud800":0},"merges":[]}})", "surrogate"},
      {with(R"("model":{})"), "\"model\" occurs twice"},
      {with(R"("version":"2.0")"), "version \"2.0\" is not known"},
      // the model
      {"{}", "has no \"model\""},
      {model("3"), "model"},
      {model(R"({"type":"WordPiece","vocab":{"a":0}})"),
       "model.type \"WordPiece\" is not supported"},
      {model(R"({"type":"Unigram","vocab":[["a",0]]})"), "model.type \"Unigram\" is not supported"},
      {model(R"({"type":"WordLevel","vocab":{"a":0}})"),
       "model.type \"WordLevel\" is not supported"},
      {model(R"({"type":7,"vocab":{"a":0},"merges":[]})"), "model.type must be a string, found 7"},
      {model(R"({"type":"BPE","merges":[]})"), "model has no \"vocab\""},
      {model(R"({"type":"BPE","vocab":{"a":0}})"), "model has no \"merges\""},
      {model(R"({"type":"BPE","vocab":{},"merges":[]})"), "model.vocab must be an object"},
      {model(R"({"type":"BPE","vocab":["a"],"merges":[]})"), "model.vocab must be an object"},
      {model(R"({"type":"BPE","vocab":{"a":-1},"merges":[]})"), "an id in model.vocab must be"},
      {model(R"({"type":"BPE","vocab":{"a":1.5},"merges":[]})"), "an id in model.vocab must be"},
      {model(R"({"type":"BPE","vocab":{"a":"0"},"merges":[]})"), "an id in model.vocab must be"},
      {model(R"({"type":"BPE","vocab":{"a":4294967295},"merges":[]})"),
       "gives \"a\" the id 4294967295"},
      {model(R"({"type":"BPE","vocab":{"a":18446744073709551615},"merges":[]})"), "far above"},
      {model(R"({"type":"BPE","vocab":{"a":0,"a":1},"merges":[]})"), "names \"a\" twice"},
      {model(R"({"type":"BPE","vocab":{"a":0,"b":0},"merges":[]})"),
       "gives id 0 to \"a\" and to \"b\""},
      {model(R"({"type":"BPE","vocab":{"a":0},"merges":{}})"), "model.merges must be an array"},
      {model(R"({"type":"BPE","vocab":{"a":0},"merges":[3]})"), "a merge must be a string"},
      {model(R"({"type":"BPE","vocab":{"a":0},"merges":["aa"]})"),
       "model.merges[0] must be two tokens"},
      {model(R"({"type":"BPE","vocab":{"a":0},"merges":["a a a"]})"),
       "one space between: \"a a a\""},
      {model(R"({"type":"BPE","vocab":{"a":0},"merges":[["a"]]})"), "must hold two tokens"},
      {model(R"({"type":"BPE","vocab":{"a":0},"merges":["a x"]})"), "lacks: \"x\""},
      {model(R"({"type":"BPE","vocab":{"a":0},"merges":["a a"]})"),
       "makes a token that model.vocab lacks"},
      {model(R"({"type":"BPE","vocab":{"a":0},"merges":[],"dropout":0.1})"), "model.dropout 0.1"},
      {model(R"({"type":"BPE","vocab":{"a":0},"merges":[],"dropout":"often"})"),
       "model.dropout \"often\""},
      {model(R"({"type":"BPE","vocab":{"a":0},"vocab":{"b":0},"merges":[]})"),
       "\"vocab\" occurs twice"},
      {model(R"({"type":"BPE","vocab":{"a":0},"merges":[],"fuse_unk":"yes"})"),
       "model.fuse_unk must be true or false"},
      {model(R"({"type":"BPE","vocab":{"a":0},"merges":[],"unk_token":5})"),
       "model.unk_token must be a string"},
      // added tokens
      {with(R"("added_tokens":{})"), "added_tokens must be an array"},
      {with(R"("added_tokens":[3])"), "added_tokens[0] must be an object"},
      {with(R"("added_tokens":[{"content":"x","special":true}])"), "added_tokens[0] has no \"id\""},
      {with(R"("added_tokens":[{"id":3,"special":true}])"), "added_tokens[0] has no \"content\""},
      {with(R"("added_tokens":[{"id":3,"content":"x"}])"), "added_tokens[0] has no \"special\""},
      {with(R"("added_tokens":[{"id":3,"content":"x","special":1}])"),
       "special must be true or false, found 1"},
      {with(R"("added_tokens":[{"id":-3,"content":"x","special":true}])"),
       "added_tokens[0].id must be a whole number"},
      {with(
           R"("normalizer":{"type":"Lowercase"},"added_tokens":[{"id":3,"content":"x","special":false,"normalized":true},
               {"id":4,"content":"X","special":false,"normalized":true}])"),
       "same text as another added token"},
      {R"({"model":{"type":"BPE","vocab":{"a":1,"b":2,"c":3},"merges":[]},)"
       R"("added_tokens":[{"id":3,"content":"<x>","special":true}]})",
       R"(added_tokens[0] "<x>" gets id 3, which model.vocab gives to "c")"},
      // normalizers
      {with(R"("normalizer":3)"), "normalizer must be an object"},
      {with(R"("normalizer":{})"), "normalizer has no \"type\""},
      {with(R"("normalizer":{"type":"Precompiled","precompiled_charsmap":""})"),
       "normalizer.type \"Precompiled\" is not supported"},
      {with(R"("normalizer":{"type":"Sequence","normalizers":[{"type":"NFX"}]})"),
       "normalizer.normalizers[0].type \"NFX\""},
      {with(R"("normalizer":{"type":"Replace","pattern":{"Regex":"("},"content":""})"),
       "normalizer.pattern.Regex \"(\" is not a pattern"},
      {with(R"("normalizer":{"type":"Replace","pattern":"x","content":""})"),
       "normalizer.pattern must be an object"},
      {with(R"("normalizer":{"type":"Prepend"})"), "normalizer has no \"prepend\""},
      // pre-tokenizers
      {with(R"("pre_tokenizer":{"type":"UnicodeScripts"})"),
       "pre_tokenizer.type \"UnicodeScripts\" is not supported"},
      {with(
           R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"[a"},"behavior":"Isolated","invert":false})"),
       "\"[a\" is not a pattern that can be used: a character class"},
      {with(
           R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a)\\1"},"behavior":"Isolated","invert":false})"),
       "references back to a group"},
      {with(
           R"("pre_tokenizer":{"type":"Split","pattern":{},"behavior":"Isolated","invert":false})"),
       "must hold a \"String\" or a \"Regex\""},
      {with(
           R"("pre_tokenizer":{"type":"Split","pattern":{"String":"a"},"behavior":"Sideways","invert":false})"),
       "pre_tokenizer.behavior \"Sideways\" is not known"},
      {with(R"("pre_tokenizer":{"type":"Split","pattern":{"String":"a"},"behavior":"Isolated"})"),
       "pre_tokenizer has no \"invert\""},
      {with(R"("pre_tokenizer":{"type":"Metaspace","replacement":"__"})"),
       "pre_tokenizer.replacement must be one character"},
      {with(R"("pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"often"})"),
       "prepend_scheme \"often\" is not known"},
      {with(
           R"("pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"first","add_prefix_space":false})"),
       "they must agree"},
      {with(R"("pre_tokenizer":{"type":"FixedLength","length":0})"), "must be at least 1"},
      {with(R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[null,{"type":"Digits"}]})"),
       "pretokenizers[1] has no \"individual_digits\""},
      // decoders and post-processors
      {with(R"("decoder":{"type":"WordPiece"})"), "decoder.type \"WordPiece\" is not supported"},
      {with(R"("decoder":{"type":"Strip","content":"","start":1,"stop":0})"),
       "decoder.content must be one character"},
      {with(R"("decoder":{"type":"Sequence","decoders":[{"type":"CTC"}]})"),
       "decoder.decoders[0].type \"CTC\""},
      {with(R"("post_processor":{"type":"Magic"})"),
       "post_processor.type \"Magic\" is not supported"},
      {with(
           R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}}],"special_tokens":{}})"),
       "\"<s>\" is not among post_processor.special_tokens"},
      {with(R"("post_processor":{"type":"RobertaProcessing","cls":["<s>"],"sep":["</s>",2]})"),
       "post_processor.cls must be [text, id]"},
      {with(
           R"("post_processor":{"type":"RobertaProcessing","cls":["<s>",4294967296],"sep":["</s>",2]})"),
       "post_processor.cls[1] is no token id"},
      {with(R"("post_processor":{"type":"RobertaProcessing","cls":["<s>",3],"sep":["</s>",2]})"),
       "post_processor adds id 3, which no token of this file has"},
      {with(
           R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}}],"special_tokens":{"<s>":{"ids":[1,99999]}}})"),
       "post_processor adds id 99999, which no token of this file has"},
      {with(
           R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}}],"special_tokens":{"<s>":{"ids":[4294967296]}}})"),
       "is no token id: 4294967296"},
      {with(R"("pre_tokenizer":{"type":"Split","pattern":{"String":")" + std::string(5000, 'a') +
            R"("},"behavior":"Isolated","invert":false})"),
       "is longer than 4096 bytes"},
  };
}

TEST(BadTokenizer, EveryFileHasItsMessage) {
  const auto cases = bad_files();
  EXPECT_GE(cases.size(), 40u);
  for (const BadTokenizer& one : cases) {
    try {
      Tokenizer::parse(one.json, "tokenizer.json", "", "");
      ADD_FAILURE() << "was accepted: " << one.json;
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with("tokenizer.json: ")) << message;
      EXPECT_NE(message.find(one.fragment), message.npos) << message << "\n" << one.json;
      EXPECT_EQ(error.kind(), ErrorKind::BadInput);
    }
  }
}

// Memory use is bounded by the size of the file.
TEST(BadTokenizer, MemoryStaysWithinTheFileAnd64MiB) {
  auto cases = bad_files();
  cases.push_back({model(R"({"type":"BPE","vocab":{"a":2147483646},"merges":[]})"), ""});
  cases.push_back({model(R"({"type":"BPE","vocab":{"a":99999999999999},"merges":[]})"), ""});
  cases.push_back({with(R"("added_tokens":[{"id":2147483646,"content":"x","special":true}])"), ""});
  cases.push_back({with(R"x("pre_tokenizer":{"type":"Split","behavior":"Isolated","invert":false,
                            "pattern":{"Regex":"(((a{1000}){1000}){1000})"}})x"),
                   ""});
  cases.push_back({"{\"model\":" + std::string(1 << 20, '{'), ""});
  for (const BadTokenizer& one : cases) {
    const std::size_t peak = testing::peak_allocation([&] {
      try {
        Tokenizer::parse(one.json, "tokenizer.json", "", "");
      } catch (const Error&) {
      }
    });
    EXPECT_LT(peak, one.json.size() + (std::size_t{64} << 20)) << one.json.substr(0, 200);
  }
}

TEST(BadTokenizer, EveryConfigHasItsMessage) {
  const BadTokenizer cases[] = {
      {"[]", "must be an object"},
      {"{", "not valid JSON"},
      {R"({"bos_token":3})", "bos_token must be a string, found 3"},
      {R"({"eos_token":{}})", "eos_token has no \"content\""},
      {R"({"add_bos_token":"yes"})", "add_bos_token must be true or false"},
      {R"({"add_bos_token":true})", "add_bos_token is true but bos_token is not given"},
      {R"({"add_eos_token":true,"eos_token":"</s>"})", "eos_token \"</s>\" is not a token of"},
  };
  for (const BadTokenizer& one : cases) {
    try {
      Tokenizer::parse(with(""), "tokenizer.json", one.json, "tokenizer_config.json");
      ADD_FAILURE() << "was accepted: " << one.json;
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with("tokenizer_config.json: ")) << message;
      EXPECT_NE(message.find(one.fragment), message.npos) << message;
    }
  }
}

TEST(BadTokenizer, AFolderWithoutTheFile) {
  try {
    Tokenizer::load("/nonexistent");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "/nonexistent: there is no tokenizer.json; point --model at a Hugging Face folder "
                 "that has one");
  }
}

TEST(BadTokenizer, AnEmptyConfigIsNotTakenForNone) {
  const testing::TemporaryFolder folder;
  folder.write("tokenizer.json", with(""));
  folder.write("tokenizer_config.json", "");
  try {
    Tokenizer::load(folder.path());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                ::testing::EndsWith("/tokenizer_config.json: is empty; download the file again"));
  }
}

// Sparse files of 1 GB.
TEST(BadTokenizer, AFileThatIsTooLongIsNotRead) {
  const auto error_with = [](const char* large) {
    const testing::TemporaryFolder folder;
    for (const char* name : {"tokenizer.json", "tokenizer_config.json"})
      folder.write(name, R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})");
    std::filesystem::resize_file(folder.path() / large, 1 << 30);
    std::string message;
    const std::size_t peak = testing::peak_allocation([&] {
      try {
        Tokenizer::load(folder.path());
      } catch (const Error& error) {
        message = error.what();
      }
    });
    EXPECT_LT(peak, std::size_t{1} << 20);
    return message;
  };
  EXPECT_THAT(error_with("tokenizer.json"),
              ::testing::EndsWith("/tokenizer.json: is 1073741824 bytes long; at most 268435456 "
                                  "are read"));
  EXPECT_THAT(error_with("tokenizer_config.json"),
              ::testing::EndsWith("/tokenizer_config.json: is 1073741824 bytes long; at most "
                                  "67108864 are read"));
}

TEST(BadTokenizer, AnUnknownTokenThatIsMissingFailsWhenItIsNeeded) {
  const Tokenizer tokenizer =
      Tokenizer::parse(model(R"({"type":"BPE","vocab":{"a":0},"merges":[],"unk_token":"<unk>"})"),
                       "tokenizer.json", "", "");
  EXPECT_EQ(tokenizer.encode("aa").size(), 2u);
  EXPECT_THROW(tokenizer.encode("x"), Error);
}

TEST(TokenizerWarnings, AnAddedTokenWhoseIdShiftsIsAWarning) {
  const auto warnings = [](const std::string& added) {
    return Tokenizer::parse(R"({"added_tokens":[)" + added +
                                R"(],"model":{"type":"BPE",)"
                                R"("vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}})",
                            "f.json", "", "")
        .warnings();
  };
  EXPECT_TRUE(
      warnings(R"({"id":3,"content":"<x>","special":true},{"id":1,"content":"b","special":false})")
          .empty());
  const auto shifted = warnings(R"({"id":4,"content":"<x>","special":true})");
  ASSERT_EQ(shifted.size(), 1u);
  EXPECT_NE(shifted[0].find("f.json: added token \"<x>\" gets id 3, although the file says 4"),
            std::string::npos)
      << shifted[0];
  EXPECT_EQ(warnings(R"({"id":7,"content":"b","special":false})").size(), 1u);
}

}  // namespace
}  // namespace counterbeam
