// The parts of a model as a source gives them, one by one and checked against each other.
#include "model/model_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "model/hugging_face.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kConfig = R"({"model_type": "llama", "hidden_size": 8, "vocab_size": 4,
  "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "eos_token_id": 3,
  "max_position_embeddings": 64})";
constexpr const char* kTokenizer =
    R"({"added_tokens": [{"id": 3, "content": "<end>", "special": true}],
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})";

class ModelSourceTest : public ::testing::Test {
 protected:
  std::unique_ptr<ModelSource> open() const { return open_model(folder_.path().string()); }
  std::string error_of_parts() const {
    try {
      read_parts(*open());
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  testing::TemporaryFolder folder_;
};

TEST_F(ModelSourceTest, AFolderNeedsOnlyThePartsThatAreAskedFor) {
  folder_.write("tokenizer.json", kTokenizer);
  EXPECT_EQ(open()->tokenizer().size(), 4u);
  EXPECT_THROW(open()->config(), Error);
  EXPECT_THROW(open()->chat_template(), Error);
  EXPECT_FALSE(open()->ships());
  EXPECT_EQ(open_model(folder_.path().string() + "/")->name(), folder_.path().filename());
}

TEST_F(ModelSourceTest, PartsAreReadTogether) {
  folder_.write("config.json", kConfig);
  folder_.write("tokenizer.json", kTokenizer);
  folder_.write("tokenizer_config.json", R"({"eos_token": "ab"})");
  folder_.write("generation_config.json", R"({"eos_token_id": [1]})");
  folder_.write("chat_template.jinja", "{{ messages }}");
  const ModelParts parts = read_parts(*open());
  EXPECT_EQ(parts.config.vocab, 4);
  EXPECT_THAT(parts.eos, ElementsAre(1, 2, 3));
  EXPECT_TRUE(parts.chat_template);
  EXPECT_EQ(parts.chat_error, "");
}

// Qwen2.5 (base) ends turns with a token that none of its files calls its end.
TEST_F(ModelSourceTest, AnswersStopWhereTheTemplateEndsATurn) {
  folder_.write("config.json", kConfig);
  folder_.write("tokenizer.json",
                R"({"added_tokens": [{"id": 2, "content": "<turn>", "special": true},
                                     {"id": 3, "content": "<end>", "special": true}],
                    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})");
  folder_.write("chat_template.jinja",
                "{% for m in messages %}a{{ m.content }}<turn>b{% endfor %}");
  const ModelParts parts = read_parts(*open());
  EXPECT_THAT(parts.eos, ElementsAre(3));
  EXPECT_EQ(parts.turn_end.token, 2);
  EXPECT_THAT(end_tokens(parts, StopAt::Turn), ElementsAre(2, 3));
  EXPECT_THAT(end_tokens(parts, StopAt::Eos), ElementsAre(3));
  EXPECT_THROW(stop_at_named("end"), BadInput);
}

// The model cannot draw a token that it has no row for.
TEST_F(ModelSourceTest, AnEndOfTurnNeedsARow) {
  folder_.write("config.json", kConfig);
  folder_.write("tokenizer.json",
                R"({"added_tokens": [{"id": 4, "content": "<turn>", "special": true}],
                    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "d": 3},
                              "merges": []}})");
  folder_.write("chat_template.jinja", "{% for m in messages %}a{{ m.content }}<turn>{% endfor %}");
  const ModelParts parts = read_parts(*open());
  EXPECT_FALSE(parts.turn_end.token);
  EXPECT_THAT(parts.turn_end.note, HasSubstr("no row"));
}

TEST_F(ModelSourceTest, ABrokenTemplateIsNotedAndTheRestIsRead) {
  folder_.write("config.json", kConfig);
  folder_.write("chat_template.jinja", "{% if %}");
  const ModelParts parts = read_parts(*open());
  EXPECT_FALSE(parts.chat_template);
  EXPECT_FALSE(parts.tokenizer);
  EXPECT_THAT(parts.chat_error, HasSubstr("chat_template.jinja"));
}

// Tokens that a text can turn into must be known to the model; added ones may be unknown to it.
TEST_F(ModelSourceTest, TheTokenizerFitsTheModel) {
  folder_.write("config.json", kConfig);
  folder_.write("tokenizer.json",
                R"({"added_tokens": [{"id": 9, "content": "<image>", "special": true}],
                    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2},
                              "merges": ["a b"]}})");
  EXPECT_EQ(error_of_parts(), "no error");
  folder_.write("tokenizer.json",
                R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 4},
                              "merges": ["a b"]}})");
  EXPECT_EQ(error_of_parts(),
            folder_.path().string() +
                ": the tokenizer has ids up to 4, but the model has vocab_size 4; they belong to "
                "different models: download the checkpoint again");
}

// A config that cannot be read because of too many open files or a failing disk.
class UnreadableConfig : public HuggingFaceFolder {
 public:
  using HuggingFaceFolder::HuggingFaceFolder;
  ModelConfig config() const override { failed("config.json: cannot be read: Input/output error"); }
};

TEST_F(ModelSourceTest, TextPartsDoWithoutAnUnknownConfigButNotWithoutAnUnreadableOne) {
  folder_.write("tokenizer.json", kTokenizer);
  EXPECT_EQ(read_text_parts(*open()).config.vocab, 4);
  EXPECT_THROW(read_text_parts(UnreadableConfig(folder_.path())), Failed);
  folder_.write("config.json", kConfig);
  EXPECT_THAT(read_text_parts(*open()).eos, ElementsAre(3));
  folder_.write("tokenizer.json",
                R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 4},
                              "merges": ["a b"]}})");
  EXPECT_THROW(read_text_parts(*open()), BadInput);
}

}  // namespace
}  // namespace counterbeam
