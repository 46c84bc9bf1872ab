// GGUF files that are whole, but not a model that can be run: the exact message of each.
#include <gtest/gtest.h>

#include "base/error.h"
#include "model/dry_load.h"
#include "model/gguf_files.h"
#include "model/model_source.h"
#include "support/allocation_watch.h"
#include "support/bad_case.h"
#include "text/named_splits.h"

namespace counterbeam {
namespace {

using namespace testing;

class BadGgufModel : public ::testing::Test {
 protected:
  // Reads every part, as loading does, of a small file that `change` has changed.
  template <typename Change>
  void expect(const std::string& message, const char* arch, Change change) const {
    GgufFile file = small_gguf(arch);
    change(file);
    const std::string bytes = file.bytes();
    const std::string path = folder_.write("m.gguf", bytes).string();
    expect_message(message, path + ": " + message, [&] {
      const auto source = open_model(path);
      const ModelParts parts = read_parts(*source);
      const DryLoad load = dry_load(parts.config, *source->weights(parts.config));
      if (!load.problems.empty()) throw BadInput(load.problems[0]);
      if (!parts.chat_error.empty()) throw BadInput(parts.chat_error);
    });
  }
  // The same for one key of a file of the architecture.
  void expect_key(const std::string& message, const char* arch, const std::string& name,
                  const std::string& key) const {
    expect(message, arch, [&](GgufFile& file) { file.keys[name] = key; });
  }
  void expect_number(const std::string& message, const char* arch, const std::string& name,
                     std::uint32_t value) const {
    expect_key(message, arch, name, u32_key(name, value));
  }
  void expect_without(const std::string& message, const char* arch, const std::string& name) const {
    expect(message, arch, [&](GgufFile& file) {
      file.keys.erase(name);
      file.tensors.erase(name);
    });
  }

  TemporaryFolder folder_;
};

TEST_F(BadGgufModel, Architecture) {
  expect_without("general.architecture is missing; the file does not hold a model", "llama",
                 "general.architecture");
  expect_key("general.architecture 3 is not a string", "llama", "general.architecture",
             u32_key("general.architecture", 3));
  expect_key(
      "general.architecture \"mamba\" is not supported (supported: gemma3, llama, mistral3, "
      "phi3, qwen2, qwen3, qwen35, smollm3)",
      "llama", "general.architecture", string_key("general.architecture", "mamba"));
  expect_number("llama.expert_count 8 is not supported: mixtures of experts are not run", "llama",
                "llama.expert_count", 8);
  expect_key("llama.attention.causal false is not supported (supported: true)", "llama",
             "llama.attention.causal", bool_key("llama.attention.causal", false));
  expect_key("gemma3.final_logit_softcapping 30 is not supported (supported: 0, or no such key)",
             "gemma3", "gemma3.final_logit_softcapping",
             f32_key("gemma3.final_logit_softcapping", 30));
  expect_key("llama.logit_scale 0.5 is not supported (supported: 0, or no such key)", "llama",
             "llama.logit_scale", f32_key("llama.logit_scale", 0.5f));
  expect_key(
      "mistral3.attention.temperature_scale 0.5 is not supported (supported: 0, or no such key)",
      "mistral3", "mistral3.attention.temperature_scale",
      f32_key("mistral3.attention.temperature_scale", 0.5f));
}

TEST_F(BadGgufModel, Sizes) {
  expect_without("llama.embedding_length is missing; the model cannot be run without it", "llama",
                 "llama.embedding_length");
  expect_number("llama.embedding_length 0 is not a whole number from 1 to 1048576", "llama",
                "llama.embedding_length", 0);
  expect_number("llama.feed_forward_length 4294967295 is not a whole number from 1 to 1048576",
                "llama", "llama.feed_forward_length", ~0u);
  expect_key("llama.embedding_length \"32\" is not a whole number from 1 to 1048576", "llama",
             "llama.embedding_length", string_key("llama.embedding_length", "32"));
  expect_number("llama.block_count 4294967295 is not a whole number from 1 to 4096", "llama",
                "llama.block_count", ~0u);
  expect_key("llama.block_count -1 is not a whole number from 1 to 4096", "llama",
             "llama.block_count",
             key_of("llama.block_count", GgufKind::I32, raw<std::int32_t>(-1)));
  expect_key(
      "llama.attention.head_count_kv (array of u32 of 2) differs between layers, which is not "
      "supported for this architecture",
      "llama", "llama.attention.head_count_kv",
      numbers_key<std::uint32_t>("llama.attention.head_count_kv", GgufKind::U32, {1, 2}));
  expect_key(
      "llama.attention.head_count_kv (array of u32 of 0) is not a whole number from 1 to 65536",
      "llama", "llama.attention.head_count_kv",
      numbers_key<std::uint32_t>("llama.attention.head_count_kv", GgufKind::U32, {}));
  expect_number("llama.attention.head_count_kv 3 does not divide attention.head_count 2", "llama",
                "llama.attention.head_count_kv", 3);
  expect_number(
      "llama.attention.head_count 3 does not divide embedding_length 32, and there is no "
      "attention.key_length",
      "llama", "llama.attention.head_count", 3);
  expect_number(
      "llama.attention.value_length 8 is not attention.key_length 16, which is not "
      "supported",
      "llama", "llama.attention.value_length", 8);
  expect("llama.attention.head_count 65536 times the width of a head, 65536, is above 1048576",
         "llama", [](GgufFile& file) {
           for (const char* key : {"llama.attention.head_count", "llama.attention.key_length"})
             file.keys[key] = u32_key(key, 65536);
           file.keys.erase("llama.attention.head_count_kv");
         });
  expect_without(
      "llama.attention.layer_norm_rms_epsilon is missing; the model cannot be run "
      "without it",
      "llama", "llama.attention.layer_norm_rms_epsilon");
  expect_key("llama.attention.layer_norm_rms_epsilon nan is not a number above 0 and at most 1",
             "llama", "llama.attention.layer_norm_rms_epsilon",
             f32_key("llama.attention.layer_norm_rms_epsilon", NAN));
  expect_number("qwen35.nextn_predict_layers 2 is not below block_count 2", "qwen35",
                "qwen35.nextn_predict_layers", 2);
  expect_number("qwen35.ssm.time_step_rank 5 is not a multiple of ssm.group_count 2", "qwen35",
                "qwen35.ssm.time_step_rank", 5);
  expect_number("qwen35.ssm.inner_size 66 is not a multiple of ssm.time_step_rank 4", "qwen35",
                "qwen35.ssm.inner_size", 66);
  expect_without("qwen35.ssm.state_size is missing; the model cannot be run without it", "qwen35",
                 "qwen35.ssm.state_size");
  expect_key(
      "gemma3.attention.sliding_window_pattern (array of bool of 1) does not have an entry "
      "for each of 2 layers",
      "gemma3", "gemma3.attention.sliding_window_pattern",
      array_key("gemma3.attention.sliding_window_pattern", GgufKind::Bool, 1, "\x01"));
}

TEST_F(BadGgufModel, Rope) {
  expect_number(
      "llama.rope.dimension_count 8 is not the width of a head, 16, which is not "
      "supported for this architecture",
      "llama", "llama.rope.dimension_count", 8);
  expect_number("qwen2.rope.dimension_count 7 is odd, but dimensions are rotated in pairs", "qwen2",
                "qwen2.rope.dimension_count", 7);
  expect_number("qwen2.rope.dimension_count 18 is not a whole number from 2 to 16", "qwen2",
                "qwen2.rope.dimension_count", 18);
  expect_key(
      "qwen2.rope.scaling.type \"dynamic\" is not supported (supported: none, linear, "
      "longrope, yarn)",
      "qwen2", "qwen2.rope.scaling.type", string_key("qwen2.rope.scaling.type", "dynamic"));
  expect_key("qwen2.rope.freq_base 0 is not a number above 1 and at most 1000000000000000", "qwen2",
             "qwen2.rope.freq_base", f32_key("qwen2.rope.freq_base", 0));
  expect("tensor rope_freqs.weight is F32 [4], but the 16 rotary dimensions need F32 [8]", "llama",
         [](GgufFile& file) {
           file.set("rope_freqs.weight", {4}, {1, 1, 1, 1});
         });
  expect("tensor rope_freqs.weight holds 0, not a number above 0", "llama", [](GgufFile& file) {
    file.set("rope_freqs.weight", {8}, {1, 1, 1, 1, 1, 0, 1, 1});
  });
  expect(
      "has both llama.rope.scaling.factor 2 and tensor rope_freqs.weight, which is not "
      "supported",
      "llama", [](GgufFile& file) {
        file.set("rope_freqs.weight", {8}, std::vector<float>(8, 1.0f));
        file.keys["llama.rope.scaling.factor"] = f32_key("llama.rope.scaling.factor", 2);
      });
}

TEST_F(BadGgufModel, ScalingOfRope) {
  const auto scaling = [](const char* key) { return std::string("qwen2.rope.scaling.") + key; };
  const auto yarn = [&](GgufFile& file) {
    file.keys[scaling("type")] = string_key(scaling("type"), "yarn");
    file.keys[scaling("factor")] = f32_key(scaling("factor"), 4);
  };
  expect_key("qwen2.rope.scaling.factor -0.5 is below 0", "qwen2", scaling("factor"),
             f32_key(scaling("factor"), -0.5f));
  expect_key(
      "qwen2.rope.scaling.factor (array of f32 of 2) is not a number above -1 and at most "
      "1000000000000000",
      "qwen2", scaling("factor"), numbers_key<float>(scaling("factor"), GgufKind::F32, {2, 2}));
  expect_key(
      "qwen2.rope.scaling.factor \"2\" is not a number above -1 and at most 1000000000000000",
      "qwen2", scaling("factor"), string_key(scaling("factor"), "2"));
  expect_key(
      "qwen2.rope.scaling.attn_factor inf is not a number above 0 and at most 1000000000000000",
      "qwen2", scaling("attn_factor"), f32_key(scaling("attn_factor"), INFINITY));
  expect(
      "qwen2.rope.scaling.yarn_log_multiplier 0.5 is not supported (supported: 0, or no such key)",
      "qwen2", [&](GgufFile& file) {
        yarn(file);
        file.keys[scaling("log")] = f32_key(scaling("yarn_log_multiplier"), 0.5f);
      });
  expect("qwen2.rope.scaling.yarn_beta_fast 1 is below yarn_beta_slow", "qwen2",
         [&](GgufFile& file) {
           yarn(file);
           file.keys[scaling("fast")] = f32_key(scaling("yarn_beta_fast"), 1);
           file.keys[scaling("slow")] = f32_key(scaling("yarn_beta_slow"), 2);
         });
  expect("qwen2.rope.scaling.yarn_beta_fast (absent) is below yarn_beta_slow", "qwen2",
         [&](GgufFile& file) {
           yarn(file);
           file.keys[scaling("slow")] = f32_key(scaling("yarn_beta_slow"), 40);
         });
  expect("tensor rope_freqs.weight holds inf, not a number above 0", "llama", [](GgufFile& file) {
    file.set("rope_freqs.weight", {8}, {1, 1, 1, 1, 1, INFINITY, 1, 1});
  });
  expect("qwen35.ssm.group_count 65536 times ssm.state_size 65536 is above 1048576", "qwen35",
         [](GgufFile& file) {
           for (const char* key : {"qwen35.ssm.group_count", "qwen35.ssm.state_size",
                                   "qwen35.ssm.time_step_rank", "qwen35.ssm.inner_size"})
             file.keys[key] = u32_key(key, 65536);
         });
  expect_key("llama.attention.causal (array of bool of 1) is not true or false", "llama",
             "llama.attention.causal",
             array_key("llama.attention.causal", GgufKind::Bool, 1, "\x01"));
}

TEST_F(BadGgufModel, Tensors) {
  expect_without("has no tensor token_embd.weight; the file is not complete, or not a text model",
                 "llama", "token_embd.weight");
  expect("tensor token_embd.weight has shape [12], which is not a table of 1 to 16777216 rows",
         "llama",
         [](GgufFile& file) { file.set("token_embd.weight", {12}, std::vector<float>(12)); });
  expect_without(
      "tensor blk.1.ffn_down.weight [32, 64] is missing; the metadata asks for it: convert the "
      "model again",
      "llama", "blk.1.ffn_down.weight");
  expect(
      "tensor blk.0.attn_k.weight has shape [8, 32], but the metadata asks for [16, 32]; convert "
      "the model again",
      "llama", [](GgufFile& file) {
        file.set("blk.0.attn_k.weight", {8, 32}, std::vector<float>(8 * 32));
      });
  expect(
      "has tensor \"blk.2.attn_norm.weight\", but its metadata has 2 layers (block_count), from "
      "0; convert the model again",
      "llama",
      [](GgufFile& file) { file.set("blk.2.attn_norm.weight", {32}, std::vector<float>(32)); });
  expect(
      "has tensor \"blk.99999999999.x\", but its metadata has 2 layers (block_count), from 0; "
      "convert the model again",
      "llama", [](GgufFile& file) { file.set("blk.99999999999.x", {32}, std::vector<float>(32)); });
  expect("tensor blk.0.ssm_a holds 0.5, but it is a negative exponential; convert the model again",
         "qwen35", [](GgufFile& file) {
           const std::vector<std::int64_t> shape = file.tensors["blk.0.ssm_a"].shape;
           std::vector<float> values(static_cast<std::size_t>(shape[0]), -1.0f);
           values.back() = 0.5f;
           file.set("blk.0.ssm_a", shape, values);
         });
  for (const auto& [number, name] :
       {std::pair{39u, "MXFP4"}, std::pair{9u, "Q8_1"}, std::pair{24u, "I8"}}) {
    const GgmlTypeInfo& info = *find_ggml_type(number);
    expect(fmt::format("tensor blk.0.ffn_up.weight is {}, which is not supported (supported: F32, "
                       "F16, BF16, {})",
                       name, block_type_names()),
           "llama", [&](GgufFile& file) {
             auto& tensor = file.tensors["blk.0.ffn_up.weight"];
             tensor.type = info.type;
             tensor.data = std::string(64 * 32 / info.elements * info.bytes, '\0');
           });
  }
}

TEST_F(BadGgufModel, Tokenizer) {
  const auto key = [](const char* name) { return std::string("tokenizer.ggml.") + name; };
  expect_key("tokenizer.ggml.model \"bert\" is not supported (supported: gpt2, llama)", "llama",
             key("model"), string_key(key("model"), "bert"));
  expect_without(
      "tokenizer.ggml.pre is missing; how text is split is not known: convert the model "
      "again",
      "llama", key("pre"));
  expect_key("tokenizer.ggml.pre \"default\" is not supported (supported: " + known_splits() + ")",
             "llama", key("pre"), string_key(key("pre"), "default"));
  expect_without(
      "tokenizer.ggml.tokens is missing; the tokenizer is not complete: convert the "
      "model again",
      "llama", key("tokens"));
  expect_key(
      "tokenizer.ggml.tokens (array of u32 of 1) is of type array of u32, not array of "
      "strings",
      "llama", key("tokens"), numbers_key<std::uint32_t>(key("tokens"), GgufKind::U32, {1}));
  expect_key(
      "tokenizer.ggml.token_type (array of f32 of 1) is of type array of f32, not array of "
      "i32",
      "llama", key("token_type"), numbers_key<float>(key("token_type"), GgufKind::F32, {1}));
  expect_key(
      "tokenizer.ggml.token_type (array of i32 of 1) does not have an entry for each of the "
      "12 tokens",
      "llama", key("token_type"), numbers_key<std::int32_t>(key("token_type"), GgufKind::I32, {1}));
  expect_key(
      "tokenizer.ggml.token_type (array of i32 of 12) has 7 for token 11, not a type from 0 "
      "to 6",
      "llama", key("token_type"),
      numbers_key<std::int32_t>(key("token_type"), GgufKind::I32,
                                {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 7}));
  expect_key(
      "tokenizer.ggml.token_type (array of i32 of 12) has -1 for token 0, not a type from 0 "
      "to 6",
      "llama", key("token_type"),
      numbers_key<std::int32_t>(key("token_type"), GgufKind::I32,
                                {-1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  expect(
      "tokenizer.ggml.token_type is missing; the tokenizer is not complete: convert the model "
      "again",
      "llama", [&](GgufFile& file) {
        file.keys[key("model")] = string_key(key("model"), "llama");
        file.keys[key("scores")] =
            numbers_key<float>(key("scores"), GgufKind::F32, std::vector<float>(12));
        file.keys.erase(key("token_type"));
      });
  expect_without(
      "tokenizer.ggml.merges is missing; the tokenizer is not complete: convert the "
      "model again",
      "llama", key("merges"));
  expect_key("tokenizer.ggml.merges \"a b\" is of type string, not array of strings", "llama",
             key("merges"), string_key(key("merges"), "a b"));
  expect_key("merge 0 of the tokenizer names \"x\", which is not one of its tokens", "llama",
             key("merges"), strings_key(key("merges"), {"a x"}));
  expect_key("tokenizer.ggml.eos_token_id \"10\" is not a whole number from 0 to 4294967295",
             "llama", key("eos_token_id"), string_key(key("eos_token_id"), "10"));
  expect_key("tokenizer.ggml.add_bos_token 1 is not true or false", "llama", key("add_bos_token"),
             u32_key(key("add_bos_token"), 1));
  expect_key(
      "tokenizer.ggml.scores is missing; the tokenizer is not complete: convert the model "
      "again",
      "llama", key("model"), string_key(key("model"), "llama"));
  expect("tokenizer.ggml.remove_extra_whitespaces true is not supported (supported: false)",
         "llama", [&](GgufFile& file) {
           file.keys[key("model")] = string_key(key("model"), "llama");
           file.keys[key("scores")] =
               numbers_key<float>(key("scores"), GgufKind::F32, std::vector<float>(12));
           file.keys[key("remove")] = bool_key(key("remove_extra_whitespaces"), true);
         });
  for (const char* list : {"tokens", "merges"})
    expect_key(key(list) + " (array of strings of 524289) is longer than the limit of 524288",
               "llama", key(list), strings_key(key(list), std::vector<std::string>(524289)));
  expect_without(
      "this model has no chat template (tokenizer.chat_template). Use --raw to prompt "
      "it without one",
      "llama", "tokenizer.chat_template");
}

TEST_F(BadGgufModel, MemoryIsBoundedByTheFileSize) {
  GgufFile file = small_gguf("llama");
  std::vector<std::string> tokens;
  for (int i = 0; i < 400000; ++i) tokens.push_back(std::to_string(i));
  file.keys["tokenizer.ggml.tokens"] = strings_key("tokenizer.ggml.tokens", tokens);
  file.keys["tokenizer.ggml.token_type"] = numbers_key<std::int32_t>(
      "tokenizer.ggml.token_type", GgufKind::I32, std::vector<std::int32_t>(tokens.size(), 1));
  const std::string path = folder_.write("m.gguf", file.bytes()).string();
  const std::size_t size = std::filesystem::file_size(path);
  const std::size_t peak = peak_allocation(
      [&] { EXPECT_THROW(open_model(path)->tokenizer(), Error); });  // "a" is not a token
  EXPECT_LT(peak, size + kAllowance);
}

}  // namespace
}  // namespace counterbeam
