#include "model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "model/checkpoint_weights.h"
#include "model/dry_load.h"
#include "support/shared_folder.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;

Json llama() {
  return parse_json(R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 8, "num_attention_heads": 4, "vocab_size": 100,
    "max_position_embeddings": 2048})",
                    "test");
}

ModelConfig with(Json json, const Json& changes) {
  json.update(changes);
  return parse_config(json, "config.json");
}

std::vector<int> windows(const ModelConfig& config) {
  std::vector<int> all;
  for (const LayerConfig& layer : config.layers) all.push_back(layer.window);
  return all;
}

TEST(Config, LlamaDefaults) {
  const ModelConfig config = parse_config(llama(), "config.json");
  EXPECT_EQ(config.architecture, Architecture::Llama);
  EXPECT_EQ(config.kv_heads, 4);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.layer_count(), 8);
  EXPECT_FALSE(config.qkv_bias || config.output_bias || config.mlp_bias || config.tied);
  EXPECT_EQ(config.rope.kind, RopeKind::Default);
  EXPECT_EQ(config.rope.theta, 10000);
  EXPECT_EQ(config.rope.width, 16);
  EXPECT_FALSE(config.dtype);
}

TEST(Config, EverySpellingOfADtypeAndAnActivation) {
  const std::pair<const char*, std::optional<DType>> cases[] = {
      {"bfloat16", DType::BF16}, {"torch.bfloat16", DType::BF16}, {"float16", DType::F16},
      {"half", DType::F16},      {"float32", DType::F32},         {"torch.float", DType::F32},
      {"auto", std::nullopt}};
  for (const auto& [name, dtype] : cases) {
    EXPECT_EQ(with(llama(), {{"dtype", name}}).dtype, dtype) << name;
    EXPECT_EQ(with(llama(), {{"torch_dtype", name}}).dtype, dtype) << name;
  }
  EXPECT_EQ(with(llama(), {{"hidden_act", "swish"}}).activation, Activation::Silu);
  EXPECT_THROW(parse_config(Json::array(), "config.json"), Error);
}

TEST(Config, BiasesFollowTheArchitecture) {
  const Json biases = {{"attention_bias", true}, {"mlp_bias", true}};
  const ModelConfig plain = with(llama(), biases);
  EXPECT_TRUE(plain.qkv_bias && plain.output_bias && plain.mlp_bias);
  Json qwen2 = {{"model_type", "qwen2"}};
  EXPECT_TRUE(with(llama(), qwen2).qkv_bias);
  EXPECT_FALSE(with(llama(), qwen2).output_bias);
  const ModelConfig qwen3 = with(llama(), {{"model_type", "qwen3"}});
  EXPECT_TRUE(qwen3.qk_norm);
  EXPECT_FALSE(qwen3.qkv_bias);
  EXPECT_EQ(qwen3.head_dim, 128);  // heads * head_dim differs from hidden_size
  EXPECT_FALSE(with(llama(), {{"model_type", "mistral"}, {"attention_bias", true}}).qkv_bias);
}

TEST(Config, SlidingWindows) {
  const Json window = {{"sliding_window", 64}, {"max_window_layers", 6}};
  Json qwen = window;
  qwen["model_type"] = "qwen2";
  EXPECT_THAT(windows(with(llama(), qwen)), Each(0));
  qwen["use_sliding_window"] = true;
  EXPECT_THAT(windows(with(llama(), qwen)), ElementsAre(0, 0, 0, 0, 0, 0, 64, 64));
  qwen["layer_types"] = Json(std::vector<std::string>(8, "sliding_attention"));
  EXPECT_THAT(windows(with(llama(), qwen)), Each(64));
  EXPECT_THAT(windows(with(llama(), window)), Each(0));  // llama has none
  const Json mistral = {{"model_type", "mistral"}, {"num_hidden_layers", 2}};
  EXPECT_THAT(windows(with(llama(), mistral)), Each(4096));
  Json without = mistral;
  without["sliding_window"] = nullptr;
  EXPECT_THAT(windows(with(llama(), without)), Each(0));
}

TEST(Config, Phi3) {
  const Json phi = {{"model_type", "phi3"}, {"attention_bias", true}, {"layer_types", {"ignored"}}};
  const ModelConfig config = with(llama(), phi);
  EXPECT_EQ(config.architecture, Architecture::Phi3);
  EXPECT_EQ(name_of(config.architecture), "Phi-3");
  EXPECT_TRUE(config.fused_tensors);
  EXPECT_FALSE(config.qkv_bias || config.output_bias || config.mlp_bias || config.tied);
  EXPECT_FLOAT_EQ(config.rms_norm_eps, 1e-5f);
  EXPECT_EQ(config.kv_heads, 4);
  EXPECT_THAT(windows(config), Each(0));
  Json window = phi;
  window["sliding_window"] = 2047;
  EXPECT_THAT(windows(with(llama(), window)), Each(2047));
  std::vector<std::string> names;
  for (const ExpectedTensor& tensor : expected_tensors(with(llama(), {{"model_type", "phi3"}})))
    if (tensor.name.starts_with("model.layers.0."))
      names.push_back(tensor.name.substr(15) + " " + tensor.shape.to_string());
  EXPECT_THAT(
      names, ElementsAre("input_layernorm.weight [64]", "self_attn.qkv_proj.weight [192, 64]",
                         "self_attn.o_proj.weight [64, 64]", "post_attention_layernorm.weight [64]",
                         "mlp.gate_up_proj.weight [256, 64]", "mlp.down_proj.weight [64, 128]"));
}

Json gemma3() {
  Json json = llama();
  json["model_type"] = "gemma3_text";
  return json;
}

TEST(Config, Gemma3Defaults) {
  const ModelConfig config = parse_config(gemma3(), "config.json");
  EXPECT_EQ(config.architecture, Architecture::Gemma3);
  EXPECT_EQ(name_of(config.architecture), "Gemma 3");
  EXPECT_TRUE(config.tied && config.qk_norm && config.zero_centred_norm && config.post_norms);
  EXPECT_FALSE(config.qkv_bias || config.output_bias || config.mlp_bias);
  EXPECT_EQ(config.head_dim, 256);
  EXPECT_EQ(config.kv_heads, 4);
  EXPECT_EQ(config.query_scalar, 256);
  EXPECT_EQ(config.embedding_scale, 8);
  EXPECT_EQ(config.activation, Activation::GeluTanh);
  EXPECT_EQ(config.rope.theta, 1e6);
  EXPECT_EQ(config.window_rope->theta, 1e4);
  EXPECT_THAT(windows(config), ElementsAre(4096, 4096, 4096, 4096, 4096, 0, 4096, 4096));
  EXPECT_TRUE(with(gemma3(), {{"attention_bias", true}}).output_bias);
}

// As the multimodal checkpoints are published: only what differs from the class's defaults.
TEST(Config, Gemma3WrappedAndLeftOut) {
  const Json text = {
      {"model_type", "gemma3_text"}, {"hidden_size", 2560},
      {"intermediate_size", 10240},  {"num_hidden_layers", 34},
      {"sliding_window", 1024},      {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8.0}}}};
  const ModelConfig config = parse_config({{"model_type", "gemma3"},
                                           {"text_config", text},
                                           {"vision_config", Json::object()},
                                           {"eos_token_id", {1, 106}},
                                           {"torch_dtype", "bfloat16"}},
                                          "config.json");
  EXPECT_EQ(config.architecture, Architecture::Gemma3);
  EXPECT_EQ(config.vocab, 262208);
  EXPECT_EQ(config.max_positions, 131072);
  EXPECT_EQ(config.heads, 8);
  EXPECT_EQ(config.kv_heads, 4);
  EXPECT_EQ(config.layers[0].window, 1024);
  EXPECT_EQ(config.layers[5].window, 0);
  EXPECT_EQ(config.rope.kind, RopeKind::Linear);
  EXPECT_EQ(config.rope.factor, 8);
  EXPECT_EQ(config.window_rope->kind, RopeKind::Default);
  EXPECT_EQ(parameter_count(config), 3'880'263'168);  // of the published 4B model's text part
}

TEST(Config, Gemma3LayersAndRopes) {
  Json json = {{"sliding_window", 9},
               {"sliding_window_pattern", 3},
               {"rope_theta", 5e5},
               {"rope_local_base_freq", 77.0}};
  const ModelConfig old = with(gemma3(), json);
  EXPECT_THAT(windows(old), ElementsAre(9, 9, 0, 9, 9, 0, 9, 9));
  EXPECT_EQ(old.rope.theta, 5e5);
  EXPECT_EQ(old.window_rope->theta, 77);
  json["num_hidden_layers"] = 2;
  json["layer_types"] = {"full_attention", "sliding_attention"};
  json["rope_parameters"] = {{"full_attention", {{"rope_type", "linear"}, {"factor", 2.0}}},
                             {"sliding_attention", {{"rope_theta", 500.0}}}};
  const ModelConfig now = with(gemma3(), json);
  EXPECT_THAT(windows(now), ElementsAre(0, 9));
  EXPECT_EQ(now.rope.kind, RopeKind::Linear);
  EXPECT_EQ(now.rope.theta, 5e5);
  EXPECT_EQ(now.window_rope->kind, RopeKind::Default);
  EXPECT_EQ(now.window_rope->theta, 500);
}

TEST(Config, LayersWithoutRope) {
  const auto rope = [](const ModelConfig& config) {
    std::vector<bool> all;
    for (const LayerConfig& layer : config.layers) all.push_back(layer.rope);
    return all;
  };
  const Json smol = {{"model_type", "smollm3"}};
  EXPECT_THAT(rope(with(llama(), smol)), ElementsAre(1, 1, 1, 0, 1, 1, 1, 0));
  EXPECT_TRUE(with(llama(), smol).tied);
  EXPECT_EQ(with(llama(), smol).rope.theta, 2e6);
  Json given = smol;
  given["no_rope_layers"] = {0, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_THAT(rope(with(llama(), given)), ElementsAre(0, 1, 1, 1, 1, 1, 1, 1));
}

TEST(Config, WrappedTextConfig) {
  Json text = llama();
  text.update({{"model_type", "qwen3_5_text"},
               {"head_dim", 32},
               {"eos_token_id", 7},
               {"linear_num_key_heads", 2},
               {"linear_num_value_heads", 4},
               {"linear_key_head_dim", 16},
               {"linear_value_head_dim", 16},
               {"rope_parameters",
                {{"rope_type", "default"},
                 {"rope_theta", 1e7},
                 {"mrope_section", {1, 1, 2}},
                 {"mrope_interleaved", true}}}});
  const Json wrapped = {{"model_type", "qwen3_5"}, {"tie_word_embeddings", true},
                        {"text_config", text},     {"vision_config", Json::object()},
                        {"eos_token_id", {9, 7}},  {"torch_dtype", "bfloat16"}};
  const ModelConfig config = parse_config(wrapped, "config.json");
  EXPECT_EQ(config.architecture, Architecture::Qwen35);
  EXPECT_TRUE(config.tied && config.zero_centred_norm && config.output_gate && config.qk_norm);
  EXPECT_EQ(config.rope.width, 8);  // a quarter, by default
  EXPECT_EQ(config.delta_layers(), 6);
  EXPECT_EQ(config.layers[3].mixer, Mixer::Attention);
  EXPECT_EQ(config.delta.conv_channels(), 2 * 32 + 64);
  EXPECT_EQ(config.delta.conv_width, 4);
  EXPECT_EQ(config.dtype, DType::BF16);
  EXPECT_THAT(config.eos, ElementsAre(7, 9));
}

TEST(Config, EosIsTheUnion) {
  const testing::TemporaryFolder folder;
  const ModelConfig config = with(llama(), {{"eos_token_id", 2}});
  EXPECT_THAT(eos_ids(folder.path(), config, std::nullopt), ElementsAre(2));
  folder.write("generation_config.json", R"({"eos_token_id": [5, 2, 3]})");
  EXPECT_THAT(eos_ids(folder.path(), config, 1), ElementsAre(1, 2, 3, 5));
}

TEST(Config, KnownShapesMatchThePublishedNumbers) {
  EXPECT_EQ(parameter_count(known_shape("qwen3.5-0.8b")), 752'393'024);
  EXPECT_EQ(parameter_count(known_shape("qwen3.5-2b")), 1'881'825'088);
  EXPECT_EQ(parameter_count(known_shape("qwen2.5-7b")), 7'615'616'512);
  EXPECT_EQ(parameter_count(known_shape("qwen2.5-0.5b")), 494'032'768);
  EXPECT_EQ(parameter_count(known_shape("deepseek-math-7b")), 6'910'365'696);
  EXPECT_EQ(known_shape("qwen2.5-7b").kv_bytes_per_token(DType::BF16), 56 * 1024);
  EXPECT_EQ(known_shape("deepseek-math-7b").kv_bytes_per_token(DType::BF16), 480 * 1024);
  EXPECT_EQ(known_shape("qwen3.5-0.8b").kv_bytes_per_token(DType::BF16), 12 * 1024);
  EXPECT_EQ(known_shape("qwen3.5-2b").state_bytes_per_sequence(DType::BF16),
            18 * ((1 << 20) + 36 * 1024));
  EXPECT_THROW(known_shape("qwen9"), Error);
}

TEST(Config, ReadsTheReferenceCheckpoints) {
  const auto folder = testing::shared_folder() / "fixtures" / "parity";
  CB_NEEDS_SHARED(folder);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const ModelConfig config = read_config(entry.path());
    CheckpointWeights weights(Checkpoint::open(entry.path()), config);
    EXPECT_THAT(dry_load(config, weights).problems, ::testing::IsEmpty()) << entry.path();
    EXPECT_THAT(weights.unexpected(), ::testing::IsEmpty()) << entry.path();
    EXPECT_EQ(weights.extent().bytes, parameter_count(config) * 4);
    EXPECT_EQ(config.dtype, DType::F32);
  }
}

}  // namespace
}  // namespace counterbeam
