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
  const std::string divides =
      " is not supported: its weights are divided by the scales; use a checkpoint whose weights "
      "are "
      "multiplied by them";
  return {
      {"e5m2", fp8(R"("fmt": "e5m2")"),
       "quantization_config.fmt \"e5m2\" is not supported (supported: e4m3)"},
      {"scale format", fp8(R"("scale_fmt": "log")"),
       "quantization_config.scale_fmt \"log\" is not known (known: float, ue8m0)"},
      {"activations", fp8(R"("activation_scheme": "guess")"),
       "quantization_config.activation_scheme \"guess\" is not known (known: dynamic, static)"},
      {"scales that divide", fp8(R"("weight_scale_semantics": "inverse")"),
       "quantization_config.weight_scale_semantics \"inverse\"" + divides},
      {"method of scales", fp8(R"("weight_scale_method": "row")"),
       "quantization_config.weight_scale_method \"row\"" + divides},
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
    " is not supported (supported: float-quantized, int-quantized, mxfp8-quantized, "
    "naive-quantized, pack-quantized, mixed-precision)";
constexpr const char* kFormatsOfGroups =
    " is not supported (supported: float-quantized, int-quantized, mxfp8-quantized, "
    "naive-quantized, pack-quantized)";

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
       compressed_as(
           R"("config_groups": {"g": {"format": "nvfp4-pack-quantized", "weights": {}}})"),
       g + ".format \"nvfp4-pack-quantized\"" + kFormatsOfGroups},
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
      {"block text", compressed(R"({"strategy": "block", "block_structure": "128x"})"),
       w + ".block_structure \"128x\" is not two positive numbers"},
      {"block text of three", compressed(R"({"strategy": "block", "block_structure": "1x2x3"})"),
       w + ".block_structure \"1x2x3\" is not two positive numbers"},
      {"strategy", compressed(R"({"strategy": "tensor_group"})"),
       w + ".strategy \"tensor_group\" is not supported (supported: tensor, channel, group, "
           "block)"},
      {"order", compressed(R"({"actorder": "random"})"),
       w + ".actorder \"random\" is not known (known: group, weight)"},
  };
  for (const int bits : {1, 9, 16})
    cases.push_back({fmt::format("{} bits", bits),
                     compressed(fmt::format("{{\"num_bits\": {}}}", bits)),
                     fmt::format("{}.num_bits {} is not supported (supported: 2 to 8)", w, bits)});
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
      {"backend", awq(R"("bits": 4, "group_size": 128, "backend": "llm-awq")"),
       "quantization_config.backend \"llm-awq\" is not supported; its tensors are laid out "
       "differently"},
      {"format", awq(R"("bits": 4, "group_size": 128, "version": "gemm", "format": "gemv")"),
       "quantization_config.format \"gemv\" is not supported (supported: gemm); its tensors are "
       "laid out differently"},
      {"checkpoint format", awq(R"("bits": 4, "group_size": 128, "checkpoint_format": "gemv")"),
       "quantization_config.checkpoint_format \"gemv\" is not supported (supported: gemm); its "
       "tensors are laid out differently"},
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
      {"two formats",
       gptq(R"("bits": 4, "group_size": 128, "format": "gptq_v2", "checkpoint_format": "gptq")"),
       "quantization_config.format \"gptq_v2\" is not \"gptq\", as checkpoint_format says; one of "
       "them is wrong"},
      {"rotation", gptq(R"("bits": 4, "group_size": 128, "rotation": "hadamard")"),
       "quantization_config.rotation \"hadamard\" is not supported; use a checkpoint without "
       "rotations"},
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

// The limit holds before any regular expression is compiled.
TEST(BadQuantConfig, TooManyRules) {
  std::string targets, dynamic;
  for (int i = 0; i < 4097; ++i) {
    targets += fmt::format("{}\"re:(a{}\"", i == 0 ? "" : ", ", i);
    dynamic += fmt::format("{}\"-:(a{}\": {{}}", i == 0 ? "" : ", ", i);
  }
  const auto expect = [](const std::string& message, const std::string& config) {
    testing::expect_message("", "config.json: quantization_config." + message, [&] {
      parse_quant_config(parse_json(config, "test"), "config.json", "quantization_config.");
    });
  };
  expect("config_groups.g.targets [...] makes 4097 targets in all, more than the limit of 4096",
         compressed_as(R"("config_groups": {"g": {"weights": {}, "targets": [)" + targets + "]}}"));
  expect("dynamic {...} has 4097 rules, more than the limit of 4096",
         gptq(R"("bits": 4, "group_size": 128, "dynamic": {)" + dynamic + "}"));
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

QuantConfig config_of_groups(const std::string& groups) {
  return parse_quant_config(parse_json(compressed_as(R"("config_groups": {)" + groups + "}"), "t"),
                            "config.json", "quantization_config.");
}
std::string group_for(const std::string& name, const std::string& target, int bits) {
  return fmt::format(
      R"("{}": {{"targets": ["{}"], "weights": {{"num_bits": {}, "group_size": 32}}}})", name,
      target, bits);
}

TEST(QuantConfig, TheCloserTargetCounts) {
  const std::string exact = group_for("a", "m.up", 8), regex = group_for("b", "re:.*up", 4),
                    linear = group_for("c", "Linear", 5),
                    embedding = group_for("d", "Embedding", 6);
  const QuantConfig all = config_of_groups(embedding + "," + linear + "," + regex + "," + exact);
  EXPECT_EQ(all.scheme_of("m.up")->bits, 8);
  EXPECT_EQ(all.scheme_of("m.b.up")->bits, 4);
  EXPECT_EQ(all.scheme_of("m.down")->bits, 5);
  const QuantConfig table = config_of_groups(embedding);
  EXPECT_EQ(table.scheme_of("model.embed_tokens")->bits, 6);
  EXPECT_FALSE(table.scheme_of("m.up"));
  const QuantConfig twice =
      config_of_groups(group_for("a", "Linear", 8) + "," + group_for("b", "Linear", 4));
  EXPECT_EQ(twice.scheme_of("m.up")->bits, 4);
}

TEST(QuantConfig, OfRulesThatMatchTheFirstThatFits) {
  const QuantConfig config =
      config_of_groups(group_for("a", "re:.*", 8) + "," + group_for("b", "re:.*up", 4));
  const auto with_bits = [](int bits) {
    return [bits](const QuantScheme& scheme) { return scheme.bits == bits; };
  };
  EXPECT_EQ(config.scheme_of("m.up", with_bits(4))->bits, 4);
  EXPECT_EQ(config.scheme_of("m.up", with_bits(8))->bits, 8);
  EXPECT_EQ(config.scheme_of("m.up", with_bits(3))->bits, 8);
}

// Tools may name modules by other prefixes than the files.
TEST(QuantConfig, WhereNoRuleThatMatchesFitsTheOnlySchemeThatDoes) {
  const QuantConfig config =
      config_of_groups(group_for("a", "re:.*", 8) + "," + group_for("b", "re:other.*", 4) + "," +
                       group_for("c", "re:others.*", 4));
  const auto with_bits = [](int most) {
    return [most](const QuantScheme& scheme) { return scheme.bits <= most; };
  };
  EXPECT_EQ(config.scheme_of("m.up", with_bits(4))->bits, 4);
  EXPECT_EQ(config.scheme_of("m.up", with_bits(3))->bits, 8);
  const QuantConfig two =
      config_of_groups(group_for("b", "re:other.*", 4) + "," + group_for("c", "re:more.*", 3));
  EXPECT_FALSE(two.scheme_of("m.up", with_bits(4)));
}

TEST(QuantConfig, WhatToolsWriteInOtherWays) {
  const auto weights = [](const std::string& text) {
    return *parse_quant_config(parse_json(compressed(text), "t"), "config.json", "q.")
                .scheme_of("m");
  };
  const QuantScheme blocks =
      weights(R"({"strategy": "BLOCK", "type": "FLOAT", "block_structure": "64x128"})");
  EXPECT_EQ(blocks.block_rows, 64);
  EXPECT_EQ(blocks.group, 128);
  EXPECT_TRUE(blocks.is_float);
  for (
      const std::string& config :
      {compressed_as(
           R"("config_groups": {"a": {"format": "dense", "targets": ["Attention"], "weights": null}})"),
       compressed_as(R"("format": "mxfp8-quantized", "config_groups": {})"),
       awq(R"("bits": 4, "version": "GEMM", "format": "gemm")"),
       gptq(R"("bits": 4, "group_size": 128, "rotation": "", "format": "GPTQ")")})
    EXPECT_NO_THROW(parse_quant_config(parse_json(config, "t"), "config.json", "q.")) << config;
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
