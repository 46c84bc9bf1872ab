// Malformed config.json and generation_config.json files, and the exact error message of each.
#include <gtest/gtest.h>

#include "model/config.h"
#include "support/allocation_watch.h"
#include "support/bad_case.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

using testing::BadCase;
using testing::TemporaryFolder;

// A valid Llama config with changed members; null removes a member.
std::string llama(const char* changes = "{}") {
  Json json = {{"model_type", "llama"},    {"hidden_size", 64},
               {"intermediate_size", 128}, {"num_hidden_layers", 2},
               {"num_attention_heads", 4}, {"num_key_value_heads", 2},
               {"vocab_size", 100},        {"max_position_embeddings", 2048}};
  const Json other = parse_json(changes, "changes");
  json.update(other);
  for (const auto& [key, value] : other.items())
    if (value.is_null()) json.erase(key);
  return json.dump();
}

std::string qwen35(const char* changes) {
  Json json = parse_json(llama(R"({"model_type": "qwen3_5_text", "head_dim": 32,
      "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16,
      "linear_value_head_dim": 16})"),
                         "base");
  const Json other = parse_json(changes, "changes");
  json.update(other);
  for (const auto& [key, value] : other.items())
    if (value.is_null()) json.erase(key);
  return json.dump();
}

std::string repeated(const std::string& part, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += part;
  return all;
}

void expect_messages(const std::string& file, const std::vector<BadCase>& cases) {
  const TemporaryFolder folder;
  for (const BadCase& bad : cases) {
    const std::string path = folder.write(file, bad.input).string();
    const std::size_t peak = testing::peak_allocation([&] {
      testing::expect_message(bad.name, path + ": " + bad.message, [&] {
        if (file == "config.json")
          read_config(folder.path());
        else
          eos_ids(folder.path(), ModelConfig(), std::nullopt);
      });
    });
    EXPECT_LT(peak, bad.input.size() + testing::kAllowance) << bad.name;
  }
}

TEST(BadConfig, Frame) {
  expect_messages(
      "config.json",
      {
          {"empty file", "",
           "not valid JSON: parse error at line 1, column 1: syntax error while parsing value - "
           "unexpected end of input; expected '[', '{', or a literal"},
          {"not JSON", "model_type: llama",
           "not valid JSON: parse error at line 1, column 1: syntax error while parsing value - "
           "invalid literal; last read: 'm'"},
          {"array", "[]", "is not a JSON object"},
          {"string", "\"llama\"", "is not a JSON object"},
          {"cut short", llama().substr(0, 40),
           "not valid JSON: parse error at line 1, column 41: syntax error while parsing object "
           "key - invalid string: missing closing quote; last read: '\"'; expected string literal"},
          {"something after it", llama() + "x",
           "not valid JSON: parse error at line 1, column 182: syntax error while parsing value - "
           "invalid literal; last read: '2048}x'; expected end of input"},
          {"key twice", R"({"model_type": "llama", "model_type": "qwen2"})",
           "key \"model_type\" occurs twice"},
          {"not a number", R"({"rms_norm_eps": NaN})",
           "not valid JSON: parse error at line 1, column 18: syntax error while parsing value - "
           "invalid literal; last read: '\"rms_norm_eps\": N'"},
          {"comment", "{ // a comment\n}",
           "not valid JSON: parse error at line 1, column 3: syntax error while parsing object key "
           "- invalid literal; last read: '{ /'; expected string literal"},
          {"invalid UTF-8", "{\"model_type\": \"\xff\"}",
           "not valid JSON: parse error at line 1, column 17: syntax error while parsing value - "
           "invalid string: ill-formed UTF-8 byte; last read: '\"�'"},
          {"deep nesting", repeated("[", 100000), "nested deeper than 256 levels"},
          {"deep object", repeated("{\"a\":", 300), "nested deeper than 256 levels"},
          {"many small arrays", "[" + repeated("[],", 340000) + "[]]", "is not a JSON object"},
          {"many small objects", "[" + repeated("{\"\":{}},", 120000) + "{}]",
           "is not a JSON object"},
          {"too large", std::string((1 << 20) + 1, ' '),
           "is 1048577 bytes long; at most 1048576 are read"},
          {"number beyond a double", R"({"hidden_size": 1e999})",
           "not valid JSON: number overflow parsing '1e999'"},
      });
}

TEST(BadConfig, TypeAndSizes) {
  expect_messages(
      "config.json",
      {
          {"no model_type", llama(R"({"model_type": null})"),
           "model_type is missing; the file is not a model's config.json"},
          {"unknown model_type", llama(R"({"model_type": "gpt_neox"})"),
           "model_type \"gpt_neox\" is not supported (supported: gemma3, gemma3_text, llama, "
           "mistral, phi3, qwen2, "
           "qwen3, "
           "qwen3_5, qwen3_5_text, smollm3)"},
          {"mixture of experts", llama(R"({"model_type": "qwen3_moe"})"),
           "model_type \"qwen3_moe\" is not supported (supported: gemma3, gemma3_text, llama, "
           "mistral, phi3, qwen2, "
           "qwen3, "
           "qwen3_5, qwen3_5_text, smollm3)"},
          {"model_type is a number", llama(R"({"model_type": 7})"), "model_type 7 is not a string"},
          {"control characters in model_type", llama(R"({"model_type": "\u001b[2J"})"),
           "model_type \"\\u001b[2J\" is not supported (supported: gemma3, gemma3_text, llama, "
           "mistral, phi3, qwen2, "
           "qwen3, "
           "qwen3_5, qwen3_5_text, smollm3)"},
          {"text_config is a string", llama(R"({"text_config": "x"})"),
           "text_config \"x\" is not an object"},
          {"bad member of text_config",
           R"({"model_type": "qwen3_5", "text_config": {"hidden_size": 0}})",
           "text_config.hidden_size 0 is not a whole number from 1 to 1048576"},
          {"unknown text model",
           R"({"model_type": "x_vl", "text_config": {"model_type": "x_text"}})",
           "text_config.model_type \"x_text\" is not supported (supported: gemma3, gemma3_text, "
           "llama, mistral, phi3, "
           "qwen2, qwen3, qwen3_5, qwen3_5_text, smollm3)"},
          {"no hidden_size", llama(R"({"hidden_size": null})"),
           "hidden_size is missing; the model cannot be run without it"},
          {"no intermediate_size", llama(R"({"intermediate_size": null})"),
           "intermediate_size is missing; the model cannot be run without it"},
          {"no layers", llama(R"({"num_hidden_layers": null})"),
           "num_hidden_layers is missing; the model cannot be run without it"},
          {"no heads", llama(R"({"num_attention_heads": null})"),
           "num_attention_heads is missing; the model cannot be run without it"},
          {"no vocabulary", llama(R"({"vocab_size": null})"),
           "vocab_size is missing; the model cannot be run without it"},
          {"no positions", llama(R"({"max_position_embeddings": null})"),
           "max_position_embeddings is missing; the model cannot be run without it"},
          {"hidden_size as a string", llama(R"({"hidden_size": "64"})"),
           "hidden_size \"64\" is not a whole number from 1 to 1048576"},
          {"hidden_size as a fraction", llama(R"({"hidden_size": 64.0})"),
           "hidden_size 64.0 is not a whole number from 1 to 1048576"},
          {"hidden_size as an array", llama(R"({"hidden_size": [64]})"),
           "hidden_size [...] is not a whole number from 1 to 1048576"},
          {"negative hidden_size", llama(R"({"hidden_size": -64})"),
           "hidden_size -64 is not a whole number from 1 to 1048576"},
          {"hidden_size 0", llama(R"({"hidden_size": 0})"),
           "hidden_size 0 is not a whole number from 1 to 1048576"},
          {"huge hidden_size", llama(R"({"hidden_size": 4611686018427387904})"),
           "hidden_size 4611686018427387904 is not a whole number from 1 to 1048576"},
          {"hidden_size above int64", llama(R"({"hidden_size": 18446744073709551615})"),
           "hidden_size 18446744073709551615 is not a whole number from 1 to 1048576"},
          {"hidden_size above uint64", llama(R"({"hidden_size": 99999999999999999999})"),
           "hidden_size 1e+20 is not a whole number from 1 to 1048576"},
          {"vocab_size that wraps int", llama(R"({"vocab_size": 4294967296})"),
           "vocab_size 4294967296 is not a whole number from 1 to 16777216"},
          {"a billion layers", llama(R"({"num_hidden_layers": 1000000000})"),
           "num_hidden_layers 1000000000 is not a whole number from 1 to 4096"},
          {"intermediate_size true", llama(R"({"intermediate_size": true})"),
           "intermediate_size true is not a whole number from 1 to 1048576"},
          {"key heads do not divide heads", llama(R"({"num_key_value_heads": 3})"),
           "num_key_value_heads 3 does not divide num_attention_heads 4"},
          {"more key heads than heads", llama(R"({"num_key_value_heads": 8})"),
           "num_key_value_heads 8 does not divide num_attention_heads 4"},
          {"no key heads", llama(R"({"num_key_value_heads": 0})"),
           "num_key_value_heads 0 is not a whole number from 1 to 65536"},
          {"heads do not divide hidden_size", llama(R"({"num_attention_heads": 6})"),
           "num_attention_heads 6 does not divide hidden_size 64, and there is no head_dim"},
          {"odd head_dim", llama(R"({"head_dim": 15})"),
           "head_dim 15 and partial_rotary_factor 1 give 15 rotary dimensions, which must be even "
           "and at least 2"},
          {"head_dim 0", llama(R"({"head_dim": 0})"),
           "head_dim 0 is not a whole number from 1 to 65536"},
          {"heads times head_dim", llama(R"({"num_attention_heads": 65536, "head_dim": 65536})"),
           "num_attention_heads 65536 times head_dim 65536 is above 1048576"},
      });
}

TEST(BadConfig, Switches) {
  expect_messages(
      "config.json",
      {
          {"activation", llama(R"({"hidden_act": "gelu_x"})"),
           "hidden_act \"gelu_x\" is not supported (supported: silu, gelu_pytorch_tanh)"},
          {"activation is a number", llama(R"({"hidden_act": 1})"), "hidden_act 1 is not a string"},
          {"eps 0", llama(R"({"rms_norm_eps": 0})"),
           "rms_norm_eps 0 is not a number above 0 and at most 1"},
          {"negative eps", llama(R"({"rms_norm_eps": -1e-6})"),
           "rms_norm_eps -1e-06 is not a number above 0 and at most 1"},
          {"eps as a string", llama(R"({"rms_norm_eps": "1e-6"})"),
           "rms_norm_eps \"1e-6\" is not a number above 0 and at most 1"},
          {"tie is a number", llama(R"({"tie_word_embeddings": 1})"),
           "tie_word_embeddings 1 is not true or false"},
          {"bias is a string", llama(R"({"attention_bias": "false"})"),
           "attention_bias \"false\" is not true or false"},
          {"mlp_bias is a number", llama(R"({"mlp_bias": 0})"), "mlp_bias 0 is not true or false"},
          {"dtype", llama(R"({"torch_dtype": "float8_e4m3fn"})"),
           "torch_dtype \"float8_e4m3fn\" is not supported (supported: bfloat16, float16, "
           "float32)"},
          {"dtype is a number", llama(R"({"dtype": 16})"), "dtype 16 is not a string"},
          {"quantised", llama(R"({"quantization_config": {"quant_method": "hqq", "bits": 4}})"),
           "quantization_config.quant_method \"hqq\" is not supported (supported: fp8, "
           "compressed-tensors, awq, gptq); use a checkpoint of one of these, or the original one"},
          {"compressed", llama(R"({"compression_config": {}})"),
           "compression_config.quant_method is missing; one of fp8, compressed-tensors, awq, gptq"},
          {"eos is a string", llama(R"({"eos_token_id": "</s>"})"),
           "eos_token_id \"</s>\" is not a whole number from 0 to 16777216"},
          {"negative eos", llama(R"({"eos_token_id": -1})"),
           "eos_token_id -1 is not a whole number from 0 to 16777216"},
          {"eos in a list is a fraction", llama(R"({"eos_token_id": [2, 3.5]})"),
           "eos_token_id holds 3.5, not a token id"},
          {"eos in a list is huge", llama(R"({"eos_token_id": [2, 9999999999]})"),
           "eos_token_id holds 9999999999, not a token id"},
      });
}

TEST(BadConfig, Layers) {
  expect_messages(
      "config.json",
      {
          {"window 0", llama(R"({"model_type": "mistral", "sliding_window": 0})"),
           "sliding_window 0 is not a whole number from 1 to 1073741824"},
          {"window is a string", llama(R"({"model_type": "mistral", "sliding_window": "4k"})"),
           "sliding_window \"4k\" is not a whole number from 1 to 1073741824"},
          {"window switch is a number",
           llama(R"({"model_type": "qwen2", "use_sliding_window": 1})"),
           "use_sliding_window 1 is not true or false"},
          {"negative max_window_layers",
           llama(R"({"model_type": "qwen2", "max_window_layers": -1})"),
           "max_window_layers -1 is not a whole number from 0 to 1048576"},
          {"layer_types is a string", llama(R"({"model_type": "qwen2", "layer_types": "full"})"),
           "layer_types \"full\" is not an array"},
          {"too few layer_types",
           llama(R"({"model_type": "qwen2", "layer_types": ["full_attention"]})"),
           "layer_types has 1 entries for num_hidden_layers 2"},
          {"unknown layer type",
           llama(
               R"({"model_type": "qwen3", "layer_types": ["full_attention", "chunked_attention"]})"),
           "layer_types[1] \"chunked_attention\" is not supported for model_type qwen3 (supported: "
           "full_attention, sliding_attention)"},
          {"layer type is a number",
           llama(R"({"model_type": "qwen3", "layer_types": ["full_attention", 3]})"),
           "layer_types[1] \"3\" is not supported for model_type qwen3 (supported: full_attention, "
           "sliding_attention)"},
          {"sliding without a window",
           llama(
               R"({"model_type": "qwen2", "layer_types": ["full_attention", "sliding_attention"]})"),
           "layer_types[1] is sliding_attention, but there is no sliding_window in use"},
          {"linear attention in Qwen2",
           llama(
               R"({"model_type": "qwen2", "layer_types": ["full_attention", "linear_attention"]})"),
           "layer_types[1] \"linear_attention\" is not supported for model_type qwen2 (supported: "
           "full_attention, sliding_attention)"},
          {"sliding attention in Qwen3.5",
           qwen35(R"({"layer_types": ["sliding_attention", "full_attention"]})"),
           "layer_types[0] \"sliding_attention\" is not supported for model_type qwen3_5_text "
           "(supported: full_attention, linear_attention)"},
          {"too few no_rope_layers", llama(R"({"model_type": "smollm3", "no_rope_layers": [1]})"),
           "no_rope_layers has 1 entries for num_hidden_layers 2"},
          {"no_rope_layers holds 2",
           llama(R"({"model_type": "smollm3", "no_rope_layers": [1, 2]})"),
           "no_rope_layers[1] 2 is not 0 or 1"},
          {"interval 0", llama(R"({"model_type": "smollm3", "no_rope_layer_interval": 0})"),
           "no_rope_layer_interval 0 is not a whole number from 1 to 4096"},
          {"no linear key heads", qwen35(R"({"linear_num_key_heads": null})"),
           "linear_num_key_heads is missing; the model cannot be run without it"},
          {"linear heads do not divide", qwen35(R"({"linear_num_value_heads": 3})"),
           "linear_num_value_heads 3 is not a multiple of linear_num_key_heads 2"},
          {"linear key width 0", qwen35(R"({"linear_key_head_dim": 0})"),
           "linear_key_head_dim 0 is not a whole number from 1 to 65536"},
          {"linear widths too large",
           qwen35(R"({"linear_num_value_heads": 65536, "linear_value_head_dim": 65536})"),
           "linear_num_value_heads 65536 times a head's width is above 1048576"},
          {"convolution too wide", qwen35(R"({"linear_conv_kernel_dim": 65})"),
           "linear_conv_kernel_dim 65 is not a whole number from 1 to 64"},
          {"no output gate", qwen35(R"({"attn_output_gate": false})"),
           "attn_output_gate false is not supported (supported: true)"},
          {"full attention interval 0", qwen35(R"({"full_attention_interval": 0})"),
           "full_attention_interval 0 is not a whole number from 1 to 4096"},
      });
}

TEST(BadConfig, Rope) {
  expect_messages(
      "config.json",
      {
          {"unknown rope_type", llama(R"({"rope_parameters": {"rope_type": "proportional"}})"),
           "rope_parameters.rope_type \"proportional\" is not supported (supported: default, "
           "linear, "
           "llama3, longrope, yarn)"},
          {"unknown old type", llama(R"({"rope_scaling": {"type": "dynamic", "factor": 2}})"),
           "rope_scaling.type \"dynamic\" is not supported (supported: default, linear, llama3, "
           "longrope, yarn)"},
          {"rope_type is a number", llama(R"({"rope_parameters": {"rope_type": 1}})"),
           "rope_parameters.rope_type 1 is not a string"},
          {"rope_scaling is a number", llama(R"({"rope_scaling": 2})"),
           "rope_scaling 2 is not an object"},
          {"rope_parameters is an array", llama(R"({"rope_parameters": []})"),
           "rope_parameters [...] is not an object"},
          {"rope for each layer type", llama(R"({"rope_parameters": {"full_attention": {}}})"),
           "rope_parameters.full_attention {...} is not supported: one rope for all layers, or "
           "no_rope_layers"},
          {"theta 0", llama(R"({"rope_theta": 0})"),
           "rope_theta 0 is not a number above 1 and at most 1000000000000000"},
          {"theta is a string", llama(R"({"rope_theta": "1e4"})"),
           "rope_theta \"1e4\" is not a number above 1 and at most 1000000000000000"},
          {"linear without factor", llama(R"({"rope_scaling": {"type": "linear"}})"),
           "rope_scaling.factor is missing; this rope_type needs it"},
          {"negative factor", llama(R"({"rope_scaling": {"type": "linear", "factor": -2}})"),
           "rope_scaling.factor -2 is not a number above 0 and at most 1000000000000000"},
          {"llama3 without factors",
           llama(R"({"rope_scaling": {"rope_type": "llama3", "factor": 8}})"),
           "rope_scaling.low_freq_factor is missing; this rope_type needs it"},
          {"llama3 factors crossed", llama(R"({"rope_scaling": {"rope_type": "llama3", "factor": 8,
          "low_freq_factor": 4, "high_freq_factor": 1}})"),
           "rope_scaling.high_freq_factor 1 is not above low_freq_factor"},
          {"yarn betas crossed",
           llama(
               R"({"rope_scaling": {"rope_type": "yarn", "factor": 8, "beta_fast": 1, "beta_slow": 2}})"),
           "rope_scaling.beta_fast 1 is below beta_slow"},
          {"original context 0",
           llama(
               R"({"rope_scaling": {"rope_type": "yarn", "factor": 8, "original_max_position_embeddings": 0}})"),
           "rope_scaling.original_max_position_embeddings 0 is not a number above 0 and at most "
           "1000000000000000"},
          {"longrope without factors",
           llama(
               R"({"rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1, 1, 1, 1, 1, 1]}})"),
           "rope_scaling.long_factor is missing; this rope_type needs it"},
          {"longrope with few factors",
           llama(R"({"rope_scaling": {"type": "longrope", "short_factor": [1, 2]}})"),
           "rope_scaling.short_factor [...] has 2 entries for 16 rotary dimensions, which need 8"},
          {"longrope factors as a number",
           llama(R"({"rope_scaling": {"type": "longrope", "short_factor": 2}})"),
           "rope_scaling.short_factor 2 is not an array"},
          {"longrope factor 0",
           llama(
               R"({"rope_scaling": {"type": "longrope", "short_factor": [1, 1, 0, 1, 1, 1, 1, 1]}})"),
           "rope_scaling.short_factor [...] holds 0, not a number above 0"},
          {"longrope factor is a string",
           llama(
               R"({"rope_scaling": {"type": "longrope", "short_factor": [1, 1, "2", 1, 1, 1, 1, 1]}})"),
           "rope_scaling.short_factor [...] holds \"2\", not a number above 0"},
          {"longrope from a context of 1",
           llama(
               R"({"rope_scaling": {"type": "longrope"}, "original_max_position_embeddings": 1})"),
           "original_max_position_embeddings 1 is not a number above 1 and at most "
           "1000000000000000"},
          {"su outside Phi-3", llama(R"({"rope_scaling": {"type": "su"}})"),
           "rope_scaling.type \"su\" is not supported (supported: default, linear, llama3, "
           "longrope, "
           "yarn)"},
          {"Phi-3 with a window of 0", llama(R"({"model_type": "phi3", "sliding_window": 0})"),
           "sliding_window 0 is not a whole number from 1 to 1073741824"},
          {"partial factor 0", llama(R"({"partial_rotary_factor": 0})"),
           "partial_rotary_factor 0 is not a number above 0 and at most 1"},
          {"partial factor above 1", llama(R"({"partial_rotary_factor": 1.5})"),
           "partial_rotary_factor 1.5 is not a number above 0 and at most 1"},
          {"odd rotary width", llama(R"({"partial_rotary_factor": 0.2})"),
           "head_dim 16 and partial_rotary_factor 0.2 give 3 rotary dimensions, which must be even "
           "and at least 2"},
          {"rotary width 0", llama(R"({"partial_rotary_factor": 0.01})"),
           "head_dim 16 and partial_rotary_factor 0.01 give 0 rotary dimensions, which must be "
           "even and at least 2"},
      });
}

TEST(BadConfig, Gemma3) {
  const auto gemma3 = [](const char* changes) {
    Json json = parse_json(llama(changes), "base");
    json["model_type"] = "gemma3_text";
    return json.dump();
  };
  expect_messages(
      "config.json",
      {
          {"capped logits", gemma3(R"({"final_logit_softcapping": 30.0})"),
           "final_logit_softcapping 30.0 is not supported (supported: null)"},
          {"capped scores", gemma3(R"({"attn_logit_softcapping": 50.0})"),
           "attn_logit_softcapping 50.0 is not supported (supported: null)"},
          {"not causal", gemma3(R"({"use_bidirectional_attention": true})"),
           "use_bidirectional_attention true is not supported (supported: false)"},
          {"activation", gemma3(R"({"hidden_activation": "gelu"})"),
           "hidden_activation \"gelu\" is not supported (supported: silu, gelu_pytorch_tanh)"},
          {"query scale 0", gemma3(R"({"query_pre_attn_scalar": 0})"),
           "query_pre_attn_scalar 0 is not a number above 0 and at most 1000000000000000"},
          {"pattern 0", gemma3(R"({"sliding_window_pattern": 0})"),
           "sliding_window_pattern 0 is not a whole number from 1 to 1073741824"},
          {"one rope for all layers", gemma3(R"({"rope_parameters": {"rope_type": "default"}})"),
           "rope_parameters.rope_type \"default\" is not supported: full_attention and "
           "sliding_attention have a rope each"},
          {"unknown rope of a type of layer",
           gemma3(R"({"rope_parameters": {"full_attention": {"rope_type": "dynamic"}}})"),
           "rope_parameters.full_attention.rope_type \"dynamic\" is not supported (supported: "
           "default, linear, llama3, longrope, yarn)"},
          {"local base", gemma3(R"({"rope_local_base_freq": 0})"),
           "rope_local_base_freq 0 is not a number above 1 and at most 1000000000000000"},
          {"part of each head", gemma3(R"({"partial_rotary_factor": 0.5})"),
           "partial_rotary_factor 0.5 is not supported with a rope for each type of layer"},
      });
}

TEST(BadConfig, GenerationConfig) {
  expect_messages("generation_config.json",
                  {
                      {"empty file", "",
                       "not valid JSON: parse error at line 1, column 1: syntax error while "
                       "parsing value - unexpected end of input; expected '[', '{', or a literal"},
                      {"array", "[]", "is not a JSON object"},
                      {"eos is a string", R"({"eos_token_id": "</s>"})",
                       "eos_token_id \"</s>\" is not a whole number from 0 to 16777216"},
                      {"eos is an object", R"({"eos_token_id": {}})",
                       "eos_token_id {...} is not a whole number from 0 to 16777216"},
                      {"eos in a list is a string", R"({"eos_token_id": [1, "2"]})",
                       "eos_token_id holds \"2\", not a token id"},
                      {"negative eos in a list", R"({"eos_token_id": [-1]})",
                       "eos_token_id holds -1, not a token id"},
                      {"key twice", R"({"eos_token_id": 1, "eos_token_id": 2})",
                       "key \"eos_token_id\" occurs twice"},
                  });
}

}  // namespace
}  // namespace counterbeam
