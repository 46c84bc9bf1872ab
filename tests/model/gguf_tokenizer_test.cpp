// Tokenizers of GGUF files where the file leaves things open: special tokens that it does not name
// or names wrongly, and the white space after Phi-3's tokens.
#include <gtest/gtest.h>

#include "model/gguf_files.h"
#include "model/model_source.h"

namespace counterbeam {
namespace {

using namespace testing;

class GgufTokenizerTest : public ::testing::Test {
 protected:
  std::unique_ptr<ModelSource> open(const GgufFile& file) const {
    return open_model(folder_.write("m.gguf", file.bytes()).string());
  }

  TemporaryFolder folder_;
};

// A file with a SentencePiece model of single letters.
GgufFile sentence_pieces(std::vector<std::string> tokens, std::vector<std::int32_t> kinds,
                         const char* arch = "llama") {
  GgufFile file = small_gguf(arch);
  tokens.resize(12, "");
  kinds.resize(12, 1);
  file.keys["tokenizer.ggml.model"] = string_key("tokenizer.ggml.model", "llama");
  file.keys["tokenizer.ggml.tokens"] = strings_key("tokenizer.ggml.tokens", tokens);
  file.keys["tokenizer.ggml.token_type"] =
      numbers_key<std::int32_t>("tokenizer.ggml.token_type", GgufKind::I32, kinds);
  file.keys["tokenizer.ggml.scores"] =
      numbers_key<float>("tokenizer.ggml.scores", GgufKind::F32, std::vector<float>(13));
  file.keys["prefix"] = bool_key("tokenizer.ggml.add_space_prefix", false);
  file.keys.erase("tokenizer.ggml.eos_token_id");
  return file;
}

// As llama.cpp has it: 1, 2 and 0.
TEST_F(GgufTokenizerTest, SentencePieceHasDefaultsForItsSpecialTokens) {
  const GgufFile file = sentence_pieces({"<unk>", "<s>", "</s>", "a", "b"}, {3, 3, 3});
  const ModelParts parts = read_parts(*open(file));
  EXPECT_EQ(parts.tokenizer->encode("axb", {.add_special_tokens = true}),
            (std::vector<TokenId>{1, 3, 0, 4}));
  EXPECT_EQ(parts.eos, (std::vector<TokenId>{2}));
  EXPECT_EQ(parts.tokenizer->named().bos, "<s>");
}

TEST_F(GgufTokenizerTest, SpecialTokensThatAreNotThereAreIgnoredWithAWarning) {
  GgufFile file = small_gguf("qwen2");
  const char* pad = "tokenizer.ggml.padding_token_id";
  file.keys[pad] = u32_key(pad, ~0u);
  const auto source = open(file);
  const ModelParts parts = read_parts(*source);
  EXPECT_EQ(parts.tokenizer->named().pad, std::nullopt);
  EXPECT_EQ(parts.tokenizer->warnings(),
            (std::vector<std::string>{source->location() + ": " + pad +
                                      " 4294967295 is ignored: the tokenizer has 12 tokens"}));
  file.keys["tokenizer.ggml.eos_token_id"] = u32_key("tokenizer.ggml.eos_token_id", 12);
  EXPECT_TRUE(read_parts(*open(file)).eos.empty());
}

// Phi-3's own tokenizer does so; other models of the architecture do not.
TEST_F(GgufTokenizerTest, OnlyPhi3sTokensTakeTheWhiteSpaceAfterThem) {
  const auto newlines = [&](const char* name, const char* third) {
    GgufFile file = sentence_pieces({"<unk>", "<s>", "</s>", "a", "\n", "<|end|>", third},
                                    {2, 3, 3, 1, 1, 3, 3}, "phi3");
    file.keys["general.name"] = string_key("general.name", name);
    return open(file)->tokenizer().encode("<|end|>\na", {.special_in_text = true}).size() == 3;
  };
  EXPECT_FALSE(newlines("Phi-3-mini-4k-instruct", "<|assistant|>"));
  EXPECT_FALSE(newlines("Phi 3.5 Mini Instruct", "<|assistant|>"));
  EXPECT_TRUE(newlines("Phi-3-mini-4k-instruct", "<|im_end|>"));
  EXPECT_TRUE(newlines("Some Model", "<|assistant|>"));
}

}  // namespace
}  // namespace counterbeam
