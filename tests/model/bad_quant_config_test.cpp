// Configs of quantised checkpoints that are malformed or not supported, and the exact message of
// each.
#include <gtest/gtest.h>

#include "base/json.h"
#include "model/quant_config.h"
#include "support/allocation_watch.h"
#include "support/bad_case.h"
#include "support/temporary_folder.h"

namespace counterbeam {
namespace {

using testing::BadCase;

constexpr const char* kNotSupported =
    " is not supported (supported: fp8, compressed-tensors, awq, gptq); use a checkpoint of one of "
    "these, or the original one";

std::vector<BadCase> method_cases() {
  std::vector<BadCase> cases{
      {"not an object", "[]", "quantization_config is not an object"},
      {"a string", R"("fp8")", "quantization_config is not an object"},
      {"empty", "{}",
       "quantization_config.quant_method is missing; one of fp8, compressed-tensors, awq, gptq"},
      {"method null", R"({"quant_method": null})",
       "quantization_config.quant_method is missing; one of fp8, compressed-tensors, awq, gptq"},
      {"method a number", R"({"quant_method": 8})",
       "quantization_config.quant_method 8 is not a string"},
  };
  for (const char* method :
       {"bitsandbytes", "hqq", "mxfp4", "nvfp4", "modelopt", "auto-round", "aqlm", "quanto", "eetq",
        "fbgemm_fp8", "torchao", "vptq", "spqr", "higgs", "bitnet", "quark", "fpquant", "FP8"})
    cases.push_back(
        {method, fmt::format(R"({{"quant_method": "{}"}})", method),
         fmt::format("quantization_config.quant_method \"{}\"{}", method, kNotSupported)});
  return cases;
}

std::string fp8(const std::string& members) {
  return R"({"quant_method": "fp8", )" + members + "}";
}

std::vector<BadCase> fp8_cases() {
  const std::string block = "quantization_config.weight_block_size ";
  return {
      {"e5m2", fp8(R"("fmt": "e5m2")"),
       "quantization_config.fmt \"e5m2\" is not supported (supported: e4m3)"},
      {"scale format", fp8(R"("scale_fmt": "log")"),
       "quantization_config.scale_fmt \"log\" is not known (known: float, ue8m0)"},
      {"activations", fp8(R"("activation_scheme": "guess")"),
       "quantization_config.activation_scheme \"guess\" is not known (known: dynamic, static)"},
      {"block a number", fp8(R"("weight_block_size": 128)"), block + "128 is not an array"},
      {"one size", fp8(R"("weight_block_size": [128])"),
       block + "[...] is not two positive numbers"},
      {"three sizes", fp8(R"("weight_block_size": [1, 2, 3])"),
       block + "[...] is not two positive numbers"},
      {"zero", fp8(R"("weight_block_size": [0, 128])"),
       block + "[...] is not two positive numbers"},
      {"negative", fp8(R"("weight_block_size": [128, -1])"),
       block + "[...] is not two positive numbers"},
      {"fraction", fp8(R"("weight_block_size": [128, 0.5])"),
       block + "[...] is not two positive numbers"},
      {"huge", fp8(R"("weight_block_size": [128, 99999999999999999999])"),
       block + "[...] is not two positive numbers"},
      {"strings", fp8(R"("weight_block_size": ["128", "128"])"),
       block + "[...] is not two positive numbers"},
  };
}

std::string compressed(const std::string& weights, const std::string& rest = "") {
  return R"({"quant_method": "compressed-tensors", "format": "pack-quantized", )" + rest +
         R"("config_groups": {"g": {"targets": ["Linear"], "weights": )" + weights + "}}}";
}
std::string compressed_as(const std::string& members) {
  return R"({"quant_method": "compressed-tensors", )" + members + "}";
}

constexpr const char* kFormats =
    " is not supported (supported: float-quantized, int-quantized, naive-quantized, "
    "pack-quantized, mixed-precision)";

std::vector<BadCase> compressed_cases() {
  const std::string g = "quantization_config.config_groups.g", w = g + ".weights";
  std::vector<BadCase> cases{
      {"no groups", compressed_as(R"("format": "pack-quantized")"),
       "quantization_config.config_groups is missing; the schemes of the modules"},
      {"groups a list", compressed_as(R"("config_groups": [1])"),
       "quantization_config.config_groups [...] is not an object"},
      {"group a number", compressed_as(R"("config_groups": {"g": 4})"), g + " is not an object"},
      {"weights a number", compressed("4"), g + ".weights 4 is not an object"},
      {"format a number", compressed_as(R"("format": 1, "config_groups": {})"),
       "quantization_config.format 1 is not a string"},
      {"format of a group",
       compressed_as(R"("config_groups": {"g": {"format": "nvfp4-pack-quantized"}})"),
       g + ".format \"nvfp4-pack-quantized\"" + kFormats},
      {"no targets", compressed_as(R"("config_groups": {"g": {"weights": {}}})"),
       g + ".targets is missing; the names of the modules"},
      {"targets a string",
       compressed_as(R"("config_groups": {"g": {"weights": {}, "targets": "Linear"}})"),
       g + ".targets \"Linear\" is not an array"},
      {"target a number",
       compressed_as(R"("config_groups": {"g": {"weights": {}, "targets": [1]}})"),
       g + ".targets [...] holds something that is not a string"},
      {"ignore a string", compressed("{}", R"("ignore": "lm_head", )"),
       "quantization_config.ignore \"lm_head\" is not an array"},
      {"ignore holds a number", compressed("{}", R"("ignore": [1], )"),
       "quantization_config.ignore [...] holds something that is not a string"},
      {"sparse", compressed("{}", R"("sparsity_config": {"format": "sparse-24-bitmask"}, )"),
       "quantization_config.sparsity_config.format \"sparse-24-bitmask\" is not supported; use a "
       "checkpoint that is not sparse"},
      {"rotations", compressed("{}", R"("transform_config": {"config_groups": {"a": {}}}, )"),
       "quantization_config.transform_config.config_groups {...} is not supported; use a "
       "checkpoint "
       "without transforms"},
      {"bits a string", compressed(R"({"num_bits": "4"})"),
       w + ".num_bits \"4\" is not a whole number from 1 to 64"},
      {"FP4", compressed(R"({"num_bits": 4, "type": "float"})"),
       w + ".num_bits 4 is not supported for floats (supported: 8); NVFP4 and MXFP4 are not read"},
      {"type", compressed(R"({"type": "complex"})"),
       w + ".type \"complex\" is not known (known: int, float)"},
      {"symmetric", compressed(R"({"symmetric": 1})"), w + ".symmetric 1 is not true or false"},
      {"FP8 with zero points", compressed(R"({"type": "float", "symmetric": false})"),
       w + ".symmetric false is not supported for floats"},
      {"no group size", compressed(R"({"strategy": "group"})"),
       w + ".group_size is missing; the number of inputs that share a scale"},
      {"group size 0", compressed(R"({"strategy": "group", "group_size": 0})"),
       w + ".group_size 0 is not allowed"},
      {"group size -2", compressed(R"({"group_size": -2})"),
       w + ".group_size -2 is not a whole number from -1 to 16777216"},
      {"no block", compressed(R"({"strategy": "block"})"),
       w + ".block_structure is missing; the size of a block, as [128, 128]"},
      {"block", compressed(R"({"strategy": "block", "block_structure": [128]})"),
       w + ".block_structure [...] is not two positive numbers"},
      {"strategy", compressed(R"({"strategy": "tensor_group"})"),
       w + ".strategy \"tensor_group\" is not supported (supported: tensor, channel, group, "
           "block)"},
      {"order", compressed(R"({"actorder": "random"})"),
       w + ".actorder \"random\" is not known (known: group, weight)"},
  };
  for (const int bits : {1, 2, 3, 5, 6, 7, 16})
    cases.push_back({fmt::format("{} bits", bits),
                     compressed(fmt::format("{{\"num_bits\": {}}}", bits)),
                     fmt::format("{}.num_bits {} is not supported (supported: 4, 8)", w, bits)});
  for (const char* format :
       {"nvfp4-pack-quantized", "mxfp4-pack-quantized", "marlin-24", "sparse-bitmask", "other"})
    cases.push_back({format, compressed_as(fmt::format(R"("format": "{}")", format)),
                     fmt::format("quantization_config.format \"{}\"{}", format, kFormats)});
  return cases;
}

std::string awq(const std::string& members) {
  return R"({"quant_method": "awq", )" + members + "}";
}
std::string gptq(const std::string& members) {
  return R"({"quant_method": "gptq", )" + members + "}";
}

std::vector<BadCase> awq_cases() {
  std::vector<BadCase> cases{
      {"no bits", awq(R"("group_size": 128)"),
       "quantization_config.bits is missing; the number of bits of a weight"},
      {"8 bits", awq(R"("bits": 8, "group_size": 128)"),
       "quantization_config.bits 8 is not supported; AWQ checkpoints have 4 bits"},
      {"3 bits, old key", awq(R"("w_bit": 3, "group_size": 128)"),
       "quantization_config.w_bit 3 is not supported; AWQ checkpoints have 4 bits"},
      {"no group size", awq(R"("bits": 4)"),
       "quantization_config.group_size is missing; the number of inputs that share a scale"},
      {"group size 0", awq(R"("bits": 4, "q_group_size": 0)"),
       "quantization_config.q_group_size 0 is not allowed; it is -1 or a positive number"},
  };
  for (const char* version : {"gemv", "gemv_fast", "marlin", "exllama", "ipex", "llm-awq"})
    cases.push_back({version,
                     awq(fmt::format(R"("bits": 4, "group_size": 128, "version": "{}")", version)),
                     fmt::format("quantization_config.version \"{}\" is not supported (supported: "
                                 "gemm); its tensors are laid out differently",
                                 version)});
  return cases;
}

std::vector<BadCase> gptq_cases() {
  const std::string d = "quantization_config.dynamic ";
  std::vector<BadCase> cases{
      {"no bits", gptq(R"("group_size": 128)"),
       "quantization_config.bits is missing; the number of bits of a weight"},
      {"no group size", gptq(R"("bits": 4)"),
       "quantization_config.group_size is missing; the number of inputs that share a scale"},
      {"group size 0", gptq(R"("bits": 4, "group_size": 0)"),
       "quantization_config.group_size 0 is not allowed; it is -1 or a positive number"},
      {"group size a string", gptq(R"("bits": 4, "group_size": "128")"),
       "quantization_config.group_size \"128\" is not a whole number from -1 to 16777216"},
      {"desc_act", gptq(R"("bits": 4, "group_size": 128, "desc_act": 1)"),
       "quantization_config.desc_act 1 is not true or false"},
      {"marlin flag", gptq(R"("bits": 4, "group_size": 128, "is_marlin_format": true)"),
       "quantization_config.is_marlin_format true is not supported; use a checkpoint in the format "
       "gptq"},
      {"words of 16 bits", gptq(R"("bits": 4, "group_size": 128, "pack_dtype": "int16")"),
       "quantization_config.pack_dtype \"int16\" is not supported (supported: int32)"},
      {"dynamic a list", gptq(R"("bits": 4, "group_size": 128, "dynamic": [1])"),
       d + "[...] is not an object"},
      {"dynamic without settings", gptq(R"("bits": 4, "group_size": 128, "dynamic": {"a": 4})"),
       d + "{...} has no settings for \"a\""},
      {"dynamic bits", gptq(R"("bits": 4, "group_size": 128, "dynamic": {"+:a": {"bits": 3}})"),
       "dynamic.+:a.bits 3 is not supported (supported for GPTQ: 4, 8)"},
      {"dynamic group",
       gptq(R"("bits": 4, "group_size": 128, "dynamic": {"a": {"group_size": 0}})"),
       "dynamic.a.group_size 0 is not allowed; it is -1 or a positive number"},
  };
  for (const int bits : {2, 3, 5, 16})
    cases.push_back(
        {fmt::format("{} bits", bits), gptq(fmt::format(R"("bits": {}, "group_size": 128)", bits)),
         fmt::format("quantization_config.bits {} is not supported (supported for GPTQ: "
                     "4, 8)",
                     bits)});
  for (const char* format : {"marlin", "bitblas", "gptq_v3", "awq"})
    cases.push_back({format, gptq(fmt::format(R"("checkpoint_format": "{}")", format)),
                     fmt::format("quantization_config.checkpoint_format \"{}\" is not supported "
                                 "(supported: gptq, gptq_v2)",
                                 format)});
  return cases;
}

TEST(BadQuantConfig, EveryCaseHasItsMessage) {
  std::size_t count = 0;
  for (const auto& cases :
       {method_cases(), fp8_cases(), compressed_cases(), awq_cases(), gptq_cases()})
    for (const BadCase& bad : cases) {
      ++count;
      testing::expect_message(bad.name, "config.json: " + bad.message, [&] {
        parse_quant_config(parse_json(bad.input, "test"), "config.json", "quantization_config.");
      });
    }
  EXPECT_GE(count, 90u);
}

TEST(BadQuantConfig, RegularExpressionsThatCannotBeUsed) {
  for (const std::string& config :
       {compressed_as(R"("config_groups": {"g": {"weights": {}, "targets": ["re:(a"]}})"),
        gptq(R"("bits": 4, "group_size": 128, "dynamic": {"-:(a": {}})")}) {
    try {
      parse_quant_config(parse_json(config, "test"), "config.json", "quantization_config.");
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("has the regular expression \"(a\", which cannot"),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(QuantConfig, RulesGiveTheSchemeOfAModule) {
  const QuantConfig config = parse_quant_config(
      parse_json(R"({"quant_method": "compressed-tensors", "format": "mixed-precision",
        "config_groups": {
          "a": {"targets": ["Linear"], "format": "pack-quantized",
                "weights": {"num_bits": 4, "group_size": 32, "strategy": "group"}},
          "b": {"targets": ["re:.*down_proj$", "model.layers.1.mlp.up_proj"],
                "format": "int-quantized", "weights": {"num_bits": 8, "strategy": "channel"}}}})",
                 "test"),
      "config.json", "quantization_config.");
  EXPECT_EQ(config.scheme_of("model.layers.0.mlp.up_proj")->bits, 4);
  EXPECT_EQ(config.scheme_of("model.layers.0.mlp.up_proj")->group, 32);
  EXPECT_EQ(config.scheme_of("model.layers.1.mlp.up_proj")->bits, 8);
  EXPECT_EQ(config.scheme_of("model.layers.1.mlp.down_proj")->bits, 8);
  EXPECT_EQ(config.description(), "compressed-tensors, 8 bits and 4 bits in groups of 32");
}

TEST(QuantConfig, DynamicRulesOfGptq) {
  const QuantConfig config = parse_quant_config(
      parse_json(R"({"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": {
        "-:.*lm_head": {}, "+:.*\\.1\\..*": {"bits": 8, "group_size": -1}, ".*v_proj": {"group_size": 64}}})",
                 "test"),
      "config.json", "quantization_config.");
  EXPECT_TRUE(config.zeros_less_one);
  EXPECT_FALSE(config.scheme_of("lm_head"));
  EXPECT_EQ(config.scheme_of("model.layers.1.v_proj")->bits, 8);
  EXPECT_EQ(config.scheme_of("model.layers.1.v_proj")->group, 0);
  EXPECT_EQ(config.scheme_of("model.layers.2.v_proj")->group, 64);
  EXPECT_EQ(config.scheme_of("model.layers.2.o_proj")->group, 128);
}

TEST(QuantConfig, FilesOfOlderCheckpoints) {
  const testing::TemporaryFolder folder;
  EXPECT_FALSE(read_old_quant_config(folder.path()));
  folder.write("quant_config.json",
               R"({"zero_point": true, "q_group_size": 64, "w_bit": 4, "version": "GEMM"})");
  EXPECT_EQ(read_old_quant_config(folder.path())->description(), "awq, 4 bits in groups of 64");
  folder.write("quantize_config.json", R"({"bits": 8, "group_size": -1, "desc_act": true})");
  EXPECT_EQ(read_old_quant_config(folder.path())->description(), "gptq, 8 bits");
  folder.write("quantize_config.json", "[]");
  EXPECT_THROW(read_old_quant_config(folder.path()), Error);
}

}  // namespace
}  // namespace counterbeam
