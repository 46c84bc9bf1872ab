// Quantised checkpoints whose tensors do not fit the config, the model or each other, and the exact
// message of each. A case is a good module of a format with one thing changed.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>

#include "base/json.h"
#include "model/checkpoint_weights.h"
#include "model/quant_tensors.h"
#include "support/allocation_watch.h"
#include "support/bad_case.h"
#include "support/temporary_folder.h"
#include "tensor/safetensors.h"

namespace counterbeam {
namespace {

using testing::TemporaryFolder;

struct Module {
  std::string config;
  int out = 16, in = 64;
  std::map<std::string, Tensor> tensors{};  // by what follows "m."

  void set(const std::string& name, DType dtype, const Shape& shape) {
    tensors.insert_or_assign(name, Tensor(dtype, shape));
  }
  void set_ints(const std::string& name, DType dtype, const std::vector<std::int64_t>& values) {
    Tensor tensor(dtype, {static_cast<std::int64_t>(values.size())});
    const std::size_t width = bytes_of(dtype);
    for (std::size_t i = 0; i < values.size(); ++i)
      std::memcpy(tensor.data() + i * width, &values[i], width);
    tensors.insert_or_assign(name, std::move(tensor));
  }
};

Module fp8_blocks() {
  Module m{.config = R"({"quant_method": "fp8", "weight_block_size": [10, 48]})"};
  m.set("weight", DType::F8E4M3, {16, 64});
  m.set("weight_scale_inv", DType::F32, {2, 2});
  return m;
}
Module fp8_tensor() {
  Module m{.config = R"({"quant_method": "fp8"})"};
  m.set("weight", DType::F8E4M3, {16, 64});
  m.set("weight_scale", DType::F32, {1});
  return m;
}
std::string compressed(const std::string& weights) {
  return R"({"quant_method": "compressed-tensors", "config_groups": {"g": {"targets": ["Linear"], )"
         R"("weights": {)" +
         weights + "}}}}";
}
Module int8() {
  Module m{.config = compressed(R"("num_bits": 8, "strategy": "channel", "symmetric": false)")};
  m.set("weight", DType::I8, {16, 64});
  m.set("weight_scale", DType::BF16, {16, 1});
  m.set("weight_zero_point", DType::I8, {16, 1});
  return m;
}
Module packed(bool symmetric = true) {
  Module m{.config = compressed(std::string(R"("num_bits": 4, "group_size": 32, "symmetric": )") +
                                (symmetric ? "true" : "false"))};
  m.set("weight_packed", DType::I32, {16, 8});
  m.set("weight_scale", DType::F16, {16, 2});
  m.set_ints("weight_shape", DType::I64, {16, 64});
  if (!symmetric) m.set("weight_zero_point", DType::I32, {2, 2});
  return m;
}
Module awq() {
  Module m{.config = R"({"quant_method": "awq", "bits": 4, "group_size": 32})"};
  m.set("qweight", DType::I32, {64, 2});
  m.set("qzeros", DType::I32, {2, 2});
  m.set("scales", DType::F16, {2, 16});
  return m;
}
Module gptq(int bits = 4) {
  Module m{.config =
               fmt::format(R"({{"quant_method": "gptq", "bits": {}, "group_size": 32}})", bits)};
  m.set("qweight", DType::I32, {64 * bits / 32, 16});
  m.set("qzeros", DType::I32, {2, 16 * bits / 32});
  m.set("scales", DType::F16, {2, 16});
  return m;
}

StoredMatrix read(const Module& module, const TemporaryFolder& folder) {
  std::vector<NamedTensor> named;
  for (const auto& [name, tensor] : module.tensors) named.push_back({"m." + name, tensor.view()});
  write_safetensors(folder.path() / "model.safetensors", named);
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  std::optional<QuantConfig> config;
  if (!module.config.empty())
    config = parse_quant_config(parse_json(module.config, "test"), "config.json",
                                "quantization_config.");
  std::vector<std::string> names;
  const QuantTensors tensors(checkpoint, config);
  EXPECT_TRUE(tensors.has("m"));
  const StoredMatrix matrix = tensors.read("m", module.out, module.in, names);
  EXPECT_EQ(names.size(), module.tensors.size());
  std::vector<float> row(static_cast<std::size_t>(module.in));
  for (int i = 0; i < module.out; ++i) matrix.read_row(i, 0, row);
  return matrix;
}

TEST(QuantTensors, ReadsEveryFormat) {
  const TemporaryFolder folder;
  for (const Module& module :
       {fp8_blocks(), fp8_tensor(), int8(), packed(), packed(false), awq(), gptq(), gptq(8)}) {
    SCOPED_TRACE(module.config);
    const StoredMatrix matrix = read(module, folder);
    EXPECT_EQ(matrix.out(), 16);
    EXPECT_EQ(matrix.in(), 64);
  }
}

TEST(QuantTensors, OptionalTensorsAndOtherShapes) {
  const TemporaryFolder folder;
  Module m = packed();
  m.tensors.erase("weight_shape");
  read(m, folder);
  m.set_ints("weight_g_idx", DType::I32, std::vector<std::int64_t>(64, -1));  // not set
  EXPECT_FALSE(read(m, folder).codes()->ordered);
  m.set_ints("weight_g_idx", DType::I32, std::vector<std::int64_t>(64, 1));
  EXPECT_TRUE(read(m, folder).codes()->ordered);
  Module scalar = fp8_tensor();
  scalar.set("weight_scale", DType::F32, {});
  read(scalar, folder);
  scalar.set("weight_scale", DType::F32, {16});
  read(scalar, folder);
  scalar.set("weight_scale", DType::F32, {16, 1});
  read(scalar, folder);
  Module blocks = fp8_blocks();
  blocks.tensors.erase("weight_scale_inv");
  blocks.set("scale", DType::F8E8M0, {2, 2});
  read(blocks, folder);
}

TEST(QuantTensors, WhatToolsStoreInOtherWays) {
  const TemporaryFolder folder;
  Module order = int8();
  order.config = compressed(R"("num_bits": 8, "group_size": 32)");
  order.tensors.erase("weight_zero_point");
  order.set("weight_scale", DType::BF16, {16, 2});
  order.set_ints("weight_g_idx", DType::I32, std::vector<std::int64_t>(64, 1));
  EXPECT_TRUE(read(order, folder).codes()->ordered);
  for (int bits = 2; bits <= 8; ++bits) {
    Module bytes = int8();
    bytes.config = compressed(
        fmt::format(R"("num_bits": {}, "strategy": "channel", "symmetric": false)", bits));
    EXPECT_EQ(read(bytes, folder).codes()->kind, CodeKind::Int8);
  }
  Module zeros = packed(false);
  zeros.set("weight_zero_point", DType::I8, {16, 2});
  read(zeros, folder);
  Module grid = fp8_tensor();
  grid.out = 130;
  grid.set("weight", DType::F8E4M3, {130, 64});
  grid.set("weight_scale", DType::F32, {2, 1});
  read(grid, folder);
  Module groups = awq();
  groups.config = R"({"quant_method": "awq", "bits": 4})";
  EXPECT_EQ(read(groups, folder).codes()->group, 32);
}

TEST(QuantTensors, PlainWeightsHaveNoScales) {
  const TemporaryFolder folder;
  Tensor weight(DType::BF16, {16, 64}), scale(DType::F32, {16, 1});
  const std::vector<NamedTensor> named{{"m.weight", weight.view()},
                                       {"m.weight_scale", scale.view()}};
  write_safetensors(folder.path() / "model.safetensors", named);
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  const auto check = [&](const char* format) {
    const std::optional<QuantConfig> config = parse_quant_config(
        parse_json(fmt::format(R"({{"quant_method": "compressed-tensors", "format": "{}",
                                    "config_groups": {{}}}})",
                               format),
                   "t"),
        "config.json", "q.");
    const QuantTensors tensors(checkpoint, config);
    EXPECT_FALSE(tensors.has("m"));
    tensors.check_plain("m");
  };
  testing::expect_message("int-quantized",
                          folder.path().string() +
                              ": m has a scale (m.weight_scale), but m.weight is BF16, not "
                              "quantised; download it again",
                          [&] { check("int-quantized"); });
  EXPECT_NO_THROW(check("dense"));
}

TEST(QuantTensors, OtherFloatsOfEightBitsAreNamed) {
  const TemporaryFolder folder;
  Tensor weight(DType::F8E5M2, {16, 64}), scale(DType::F32, {1});
  const std::vector<NamedTensor> named{{"m.weight", weight.view()},
                                       {"m.weight_scale", scale.view()}};
  write_safetensors(folder.path() / "model.safetensors", named);
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  const std::optional<QuantConfig> config =
      parse_quant_config(parse_json(R"({"quant_method": "fp8"})", "t"), "config.json", "q.");
  testing::expect_message(
      "F8_E5M2",
      folder.path().string() +
          ": tensor m.weight is F8_E5M2, which is not supported (supported: F8_E4M3, I8)",
      [&] { QuantTensors(checkpoint, config).check_plain("m"); });
}

// E8M0 scales of some tools are stored as plain bytes.
TEST(QuantTensors, AScaleThatIsNotANumberIsNamed) {
  const TemporaryFolder folder;
  for (const DType dtype : {DType::U8, DType::F8E8M0}) {
    Tensor weight(DType::F8E4M3, {16, 64}), scales(dtype, {16, 2});
    std::memset(scales.data(), 127, 32);
    std::memset(scales.data() + 5, 0xff, 1);
    const std::vector<NamedTensor> named{{"model.embed_tokens.weight", weight.view()},
                                         {"model.embed_tokens.weight_scale", scales.view()}};
    write_safetensors(folder.path() / "model.safetensors", named);
    ModelConfig config;
    config.quantised = parse_quant_config(
        parse_json(R"({"quant_method": "compressed-tensors", "config_groups": {"g": {"targets": )"
                   R"(["Embedding"], "weights": {"type": "float", "group_size": 32}}}})",
                   "t"),
        "config.json", "q.");
    CheckpointWeights weights(Checkpoint::open(folder.path()), config);
    weights.matrix("embed_tokens.weight", 16, 64);
    weights.done();
    EXPECT_EQ(weights.non_finite(),
              "tensor model.embed_tokens.weight_scale, element 5 of 32, is nan");
  }
}

TEST(QuantTensors, TheEmbeddingTableMayBePacked) {
  const TemporaryFolder folder;
  const Module table = packed();
  std::vector<NamedTensor> named;
  for (const auto& [name, tensor] : table.tensors)
    named.push_back({"model.embed_tokens." + name, tensor.view()});
  write_safetensors(folder.path() / "model.safetensors", named);
  // The rule for linear layers matches too, but asks for zero points.
  Json rules = parse_json(table.config, "t");
  Json linear = rules["config_groups"].front();
  linear["targets"] = {"Linear"};
  linear["weights"]["symmetric"] = false;
  rules["config_groups"].front()["targets"] = {"Embedding"};
  rules["config_groups"]["linear"] = linear;
  ModelConfig config;
  config.quantised = parse_quant_config(rules, "config.json", "quantization_config.");
  CheckpointWeights weights(Checkpoint::open(folder.path()), config);
  EXPECT_EQ(weights.dtype(), DType::F16);
  EXPECT_TRUE(weights.matrix("embed_tokens.weight", 16, 64).codes().has_value());
  EXPECT_TRUE(weights.unexpected().empty());
}

struct BadTensors {
  std::string name;
  std::function<Module()> module;
  std::function<void(Module&)> change;
  std::string message;
};

const std::string kAgain = "; download or quantise the checkpoint again";

std::string misfit(const std::string& name, const std::string& has, const std::string& needs) {
  return "tensor m." + name + " has shape " + has + ", but m [16, 64] needs " + needs + kAgain;
}
std::function<void(Module&)> without(const std::string& name) {
  return [=](Module& m) { m.tensors.erase(name); };
}
std::function<void(Module&)> with(const std::string& name, DType dtype, const Shape& shape) {
  return [=](Module& m) { m.set(name, dtype, shape); };
}
std::function<void(Module&)> config(const std::string& text) {
  return [=](Module& m) { m.config = text; };
}
std::string missing(const std::string& name) {
  return "tensor m." + name + " is missing; m is quantised and needs it" + kAgain;
}

std::vector<BadTensors> cases() {
  const auto asymmetric = [] { return packed(false); };
  const auto symmetric = [] { return packed(); };
  const auto four = [] { return gptq(); };
  const std::string scale_types = ", but scales must be F32, BF16, F16 or F8_E8M0" + kAgain;
  return {
      {"no config", fp8_blocks, config(""),
       "m has quantised weights, but config.json has no quantization_config; download it again"},
      {"fp8 shape", fp8_blocks, with("weight", DType::F8E4M3, {16, 60}),
       misfit("weight", "[16, 60]", "[16, 64]")},
      {"fp8 rank", fp8_blocks, with("weight", DType::F8E4M3, {1024}),
       misfit("weight", "[1024]", "[16, 64]")},
      {"fp8 no scale", fp8_blocks, without("weight_scale_inv"), missing("weight_scale_inv")},
      {"fp8 two scales", fp8_blocks, with("weight_scale", DType::F32, {1}),
       "has both m.weight_scale and m.weight_scale_inv; one of them is too many" + kAgain},
      {"fp8 grid", fp8_blocks, with("weight_scale_inv", DType::F32, {1, 2}),
       misfit("weight_scale_inv", "[1, 2]", "[2, 2]")},
      {"fp8 grid turned", fp8_blocks, with("weight_scale_inv", DType::F32, {2, 3}),
       misfit("weight_scale_inv", "[2, 3]", "[2, 2]")},
      {"fp8 one scale for blocks", fp8_blocks, with("weight_scale_inv", DType::F32, {1}),
       misfit("weight_scale_inv", "[1]", "[2, 2]")},
      {"fp8 scale of integers", fp8_blocks, with("weight_scale_inv", DType::I32, {2, 2}),
       "tensor m.weight_scale_inv is I32" + scale_types},
      {"fp8 scale of doubles", fp8_tensor, with("weight_scale", DType::F64, {1}),
       "tensor m.weight_scale is F64" + scale_types},
      {"fp8 zero points", fp8_tensor, with("weight_zero_point", DType::I8, {1}),
       "tensor m.weight_zero_point is there, but FP8 weights have no zero points" + kAgain},
      {"fp8 says int8", fp8_tensor, with("weight", DType::I8, {16, 64}),
       "tensor m.weight is I8, but config.json says that it has FP8 numbers" + kAgain},
      {"fp8 tensor no scale", fp8_tensor, without("weight_scale"), missing("weight_scale")},
      {"fp8 three shards", fp8_tensor, with("weight_scale", DType::F32, {3}),
       misfit("weight_scale", "[3]", "[16, 1]")},
      {"fp8 scales of half the rows", fp8_tensor, with("weight_scale", DType::F32, {8, 1}),
       misfit("weight_scale", "[8, 1]", "[16, 1]")},
      {"fp8 empty scales", fp8_tensor, with("weight_scale", DType::F32, {0}),
       misfit("weight_scale", "[0]", "[16, 1]")},
      {"int8 says FP8", int8, config(compressed(R"("type": "float")")),
       "tensor m.weight is I8, but config.json says that it has FP8 numbers" + kAgain},
      {"int8 no zero points", int8, without("weight_zero_point"), missing("weight_zero_point")},
      {"int8 zero points packed", int8, with("weight_zero_point", DType::I32, {16, 1}),
       "tensor m.weight_zero_point is I32, but must be I8" + kAgain},
      {"int8 zero points shape", int8, with("weight_zero_point", DType::I8, {16}),
       misfit("weight_zero_point", "[16]", "[16, 1]")},
      {"int8 groups without scales", int8, config(compressed(R"("num_bits": 8, "group_size": 16)")),
       misfit("weight_scale", "[16, 1]", "[16, 4]")},
      {"int8 scale rank", int8, with("weight_scale", DType::BF16, {16, 1, 1}),
       misfit("weight_scale", "[16, 1, 1]", "[16, 1]")},
      {"packed dtype", symmetric, with("weight_packed", DType::U8, {16, 32}),
       "tensor m.weight_packed is U8, but must be I32" + kAgain},
      {"packed width", symmetric, with("weight_packed", DType::I32, {16, 16}),
       misfit("weight_packed", "[16, 16]", "[16, 8]")},
      {"packed rows", symmetric, with("weight_packed", DType::I32, {8, 8}),
       misfit("weight_packed", "[8, 8]", "[16, 8]")},
      {"packed says 8 bits", symmetric, config(compressed(R"("num_bits": 8, "group_size": 32)")),
       misfit("weight_packed", "[16, 8]", "[16, 16]")},
      {"packed no scale", symmetric, without("weight_scale"), missing("weight_scale")},
      {"packed scale groups", symmetric, with("weight_scale", DType::F16, {16, 1}),
       misfit("weight_scale", "[16, 1]", "[16, 2]")},
      {"packed one scale", symmetric, with("weight_scale", DType::F16, {1}),
       misfit("weight_scale", "[1]", "[16, 2]")},
      {"packed scale turned", symmetric, with("weight_scale", DType::F16, {2, 16}),
       misfit("weight_scale", "[2, 16]", "[16, 2]")},
      {"packed shape says other", symmetric,
       [](Module& m) {
         m.set_ints("weight_shape", DType::I64, {64, 16});
       },
       "tensor m.weight_shape says [64, 16], but config.json asks for [16, 64]" + kAgain},
      {"packed shape negative", symmetric,
       [](Module& m) {
         m.set_ints("weight_shape", DType::I32, {-16, 64});
       },
       "tensor m.weight_shape says [-16, 64], but config.json asks for [16, 64]" + kAgain},
      {"packed shape of three", symmetric, with("weight_shape", DType::I64, {3}),
       misfit("weight_shape", "[3]", "[2]")},
      {"packed shape of floats", symmetric, with("weight_shape", DType::F32, {2}),
       "tensor m.weight_shape is F32, but must be I64, I32" + kAgain},
      {"packed no zero points", asymmetric, without("weight_zero_point"),
       missing("weight_zero_point")},
      {"packed 3 bits", symmetric, config(compressed(R"("num_bits": 3, "group_size": 32)")),
       "m has packed weights of 3 bits, as config.json says; packed weights of 4 and 8 bits are "
       "supported"},
      {"packed zero points of floats", asymmetric, with("weight_zero_point", DType::F16, {16, 2}),
       "tensor m.weight_zero_point is F16, but must be I32, I8" + kAgain},
      {"packed zero points as bytes", asymmetric, with("weight_zero_point", DType::I8, {16, 1}),
       misfit("weight_zero_point", "[16, 1]", "[16, 2]")},
      {"int8 order too large", int8,
       [](Module& m) { m.set_ints("weight_g_idx", DType::I32, std::vector<std::int64_t>(64, 1)); },
       "tensor m.weight_g_idx, element 0, is 1, but there are 1 groups, from 0" + kAgain},
      {"packed zero points shape", asymmetric, with("weight_zero_point", DType::I32, {16, 2}),
       misfit("weight_zero_point", "[16, 2]", "[2, 2]")},
      {"packed order dtype", symmetric, with("weight_g_idx", DType::I64, {64}),
       "tensor m.weight_g_idx is I64, but must be I32" + kAgain},
      {"packed order length", symmetric, with("weight_g_idx", DType::I32, {32}),
       misfit("weight_g_idx", "[32]", "[64]")},
      {"packed order too large", symmetric,
       [](Module& m) {
         std::vector<std::int64_t> order(64, 0);
         order[7] = 2;
         m.set_ints("weight_g_idx", DType::I32, order);
       },
       "tensor m.weight_g_idx, element 7, is 2, but there are 2 groups, from 0" + kAgain},
      {"packed order half set", symmetric,
       [](Module& m) {
         std::vector<std::int64_t> order(64, 0);
         order[9] = -1;
         m.set_ints("weight_g_idx", DType::I32, order);
       },
       "tensor m.weight_g_idx, element 9, is -1, but there are 2 groups, from 0" + kAgain},
      {"packed order set late", symmetric,
       [](Module& m) {
         std::vector<std::int64_t> order(64, 0);
         order[0] = order[1] = -1;
         m.set_ints("weight_g_idx", DType::I32, order);
       },
       "tensor m.weight_g_idx, element 0, is -1, but there are 2 groups, from 0" + kAgain},
      {"packed and plain", symmetric, with("weight", DType::BF16, {16, 64}),
       "has both m.weight_packed and m.weight; one of them is too many: download it again"},
      {"packed in an fp8 checkpoint", symmetric, config(R"({"quant_method": "fp8"})"),
       "tensor m.weight_packed is not one of fp8 checkpoints, which config.json says this is; "
       "download it again"},
      {"packed in an awq checkpoint", symmetric,
       config(R"({"quant_method": "awq", "bits": 4, "group_size": 32})"),
       "tensor m.weight_packed is not one of awq checkpoints, which config.json says this is; "
       "download it again"},
      {"words in an fp8 checkpoint", awq, config(R"({"quant_method": "fp8"})"),
       "tensor m.qweight is not one of fp8 checkpoints, which config.json says this is; download "
       "it again"},
      {"awq odd outputs", awq, [](Module& m) { m.out = 12; },
       "m has 12 outputs, but AWQ packs them by eights" + kAgain},
      {"awq dtype", awq, with("qweight", DType::U32, {64, 2}),
       "tensor m.qweight is U32, but must be I32" + kAgain},
      {"awq shape of gptq", awq, with("qweight", DType::I32, {8, 16}),
       misfit("qweight", "[8, 16]", "[64, 2]")},
      {"awq no zeros", awq, without("qzeros"), missing("qzeros")},
      {"awq zeros shape", awq, with("qzeros", DType::I32, {1, 2}),
       misfit("qzeros", "[1, 2]", "[2, 2]")},
      {"awq zeros dtype", awq, with("qzeros", DType::F16, {2, 2}),
       "tensor m.qzeros is F16, but must be I32" + kAgain},
      {"awq no scales", awq, without("scales"), missing("scales")},
      {"awq scales turned", awq, with("scales", DType::F16, {16, 2}),
       misfit("scales", "[16, 2]", "[2, 16]")},
      {"awq scales dtype", awq, with("scales", DType::I8, {2, 16}),
       "tensor m.scales is I8" + scale_types},
      {"awq group too large", awq,
       config(R"({"quant_method": "awq", "bits": 4, "group_size": 64})"),
       misfit("qzeros", "[2, 2]", "[1, 2]")},
      {"gptq shape of awq", four, with("qweight", DType::I32, {64, 2}),
       misfit("qweight", "[64, 2]", "[8, 16]")},
      {"gptq dtype", four, with("qweight", DType::I64, {8, 16}),
       "tensor m.qweight is I64, but must be I32" + kAgain},
      {"gptq no zeros", four, without("qzeros"), missing("qzeros")},
      {"gptq zeros", four, with("qzeros", DType::I32, {2, 16}),
       misfit("qzeros", "[2, 16]", "[2, 2]")},
      {"gptq no scales", four, without("scales"), missing("scales")},
      {"gptq scales", four, with("scales", DType::F16, {1, 16}),
       misfit("scales", "[1, 16]", "[2, 16]")},
      {"gptq says 8 bits", four, config(R"({"quant_method": "gptq", "bits": 8, "group_size": 32})"),
       misfit("qweight", "[8, 16]", "[16, 16]")},
      {"gptq whole row", four, config(R"({"quant_method": "gptq", "bits": 4, "group_size": -1})"),
       misfit("qzeros", "[2, 2]", "[1, 2]")},
      {"gptq order too large", four,
       [](Module& m) { m.set_ints("g_idx", DType::I32, std::vector<std::int64_t>(64, 2)); },
       "tensor m.g_idx, element 0, is 2, but there are 2 groups, from 0" + kAgain},
      {"gptq order negative", four,
       [](Module& m) { m.set_ints("g_idx", DType::I32, std::vector<std::int64_t>(64, -2)); },
       "tensor m.g_idx, element 0, is -2, but there are 2 groups, from 0" + kAgain},
      {"gptq order not set", four,
       [](Module& m) { m.set_ints("g_idx", DType::I32, std::vector<std::int64_t>(64, -1)); },
       "tensor m.g_idx, element 0, is -1, but there are 2 groups, from 0" + kAgain},
      {"gptq order shape", four, with("g_idx", DType::I32, {64, 1}),
       misfit("g_idx", "[64, 1]", "[64]")},
      {"gptq plain by rule", four,
       config(R"({"quant_method": "gptq", "bits": 4, "group_size": 32, "dynamic": {"-:m": {}}})"),
       "m has quantised tensors, but \"dynamic\" in config.json says that it is plain" + kAgain},
      {"gptq and plain", four, with("weight", DType::F16, {16, 64}),
       "has both m.qweight and m.weight; one of them is too many: download it again"},
      {"gptq and packed", four, with("weight_packed", DType::I32, {16, 8}),
       "has both m.qweight and m.weight_packed; one of them is too many: download it again"},
  };
}

TEST(BadQuantTensors, EveryCaseHasItsMessage) {
  const TemporaryFolder folder;
  const std::vector<BadTensors> all = cases();
  EXPECT_GE(all.size(), 65u);
  for (const BadTensors& bad : all) {
    Module module = bad.module();
    bad.change(module);
    const std::size_t peak = testing::peak_allocation([&] {
      testing::expect_message(bad.name, folder.path().string() + ": " + bad.message,
                              [&] { read(module, folder); });
    });
    EXPECT_LE(peak, testing::kAllowance) << bad.name;
  }
}

}  // namespace
}  // namespace counterbeam
