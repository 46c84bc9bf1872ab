// inspect as a user calls it.
#include <gtest/gtest.h>

#include "base/json.h"
#include "model/dry_load.h"
#include "support/run_command.h"
#include "tensor/safetensors.h"

namespace counterbeam {
namespace {

using testing::run_counterbeam;
using testing::TemporaryFolder;

// A folder with a small Llama; a tensor can be left out or given another shape.
class InspectTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Json json = {{"model_type", "llama"},    {"hidden_size", 8},
                       {"intermediate_size", 16},  {"num_hidden_layers", 2},
                       {"num_attention_heads", 2}, {"vocab_size", 10},
                       {"eos_token_id", 2},        {"max_position_embeddings", 64}};
    folder_.write("config.json", to_line(json));
    config_ = parse_config(json, "test");
  }
  void write_weights(const std::string& without = "", const std::string& extra = "",
                     DType dtype = DType::BF16) {
    std::vector<Tensor> tensors;
    std::vector<NamedTensor> named;
    for (const ExpectedTensor& tensor : expected_tensors(config_)) {
      if (tensor.name == without) continue;
      tensors.emplace_back(dtype, tensor.shape);
      named.push_back({tensor.name, tensors.back().view()});
    }
    const Tensor one(DType::F32, {1});
    if (!extra.empty()) named.push_back({extra, one.view()});
    write_safetensors(folder_.path() / "model.safetensors", named);
  }
  std::string model() const { return "--model '" + folder_.path().string() + "'"; }

  TemporaryFolder folder_;
  ModelConfig config_;
};

TEST_F(InspectTest, TellsWhatAFolderHolds) {
  write_weights();
  folder_.write("chat_template.jinja", "{{ messages }}");
  folder_.write("generation_config.json", R"({"eos_token_id": [3, 2]})");
  const auto result = run_counterbeam("inspect --json --beams 4 --tokens 10 " + model());
  ASSERT_EQ(result.code, 0) << result.err;
  const Json json = parse_json(result.out, "output");
  EXPECT_EQ(json["architecture"], "Llama");
  EXPECT_EQ(json["parameters"], parameter_count(config_));
  EXPECT_EQ(json["dtype"], "BF16");
  EXPECT_EQ(json["eos"], Json({2, 3}));
  EXPECT_EQ(json["chat_template"], true);
  EXPECT_TRUE(json["tokenizer"].is_null());
  EXPECT_EQ(json["memory"]["kv_per_token"], 2 * 2 * 8 * 2);
  EXPECT_EQ(json["memory"]["cache"], 4 * 3 * 10 * 2 * 2 * 8 * 2);
  EXPECT_TRUE(json["problems"].empty() && json["unexpected"].empty());
  EXPECT_EQ(json["source"], folder_.path().string());
  const std::string name = folder_.path().filename().string();
  EXPECT_EQ(json["name"], name);
  const std::string text =
      run_counterbeam("inspect --model '" + folder_.path().string() + "/'").out;
  EXPECT_NE(text.find("model          " + name + "\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Llama (llama)"), std::string::npos) << text;
}

TEST_F(InspectTest, ShowsWhereAnswersStop) {
  write_weights();
  folder_.write("tokenizer.json",
                R"({"added_tokens": [{"id": 2, "content": "<eos>", "special": true},
                                     {"id": 3, "content": "<turn>", "special": true}],
                    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})");
  folder_.write("chat_template.jinja", "{% for m in messages %}a{{ m.content }}<turn>{% endfor %}");
  const Json json = parse_json(run_counterbeam("inspect --json " + model()).out, "output");
  EXPECT_EQ(json["eos"], Json({2}));
  EXPECT_EQ(json["eos_text"], Json({"<eos>"}));
  EXPECT_EQ(json["end_of_turn"], Json({{"id", 3}, {"text", "<turn>"}}));
  EXPECT_EQ(json["stop_tokens"], Json({2, 3}));
  const std::string text = run_counterbeam("inspect " + model()).out;
  EXPECT_NE(text.find("end tokens     2 \"<eos>\""), std::string::npos) << text;
  EXPECT_NE(text.find("end of turn    3 \"<turn>\""), std::string::npos) << text;

  folder_.write("chat_template.jinja", "{% for m in messages %}{{ m.content }}{% endfor %}");
  const Json without = parse_json(run_counterbeam("inspect --json " + model()).out, "output");
  EXPECT_TRUE(without["end_of_turn"].is_null());
  EXPECT_NE(without["end_of_turn_note"].get<std::string>().find("writes nothing"),
            std::string::npos);
  EXPECT_EQ(without["stop_tokens"], Json({2}));
}

// The engine computes F16 and F32 checkpoints in float32, and BF16 ones in bf16.
TEST_F(InspectTest, CountsWeightsAsTheEngineHoldsThem) {
  const auto weights = [&](const std::string& options) {
    const auto result = run_counterbeam("inspect --json --device cpu " + options + " " + model());
    return parse_json(result.out, "output")["memory"]["weights"].get<std::int64_t>();
  };
  for (const DType dtype : {DType::F16, DType::F32, DType::BF16}) {
    write_weights("", "", dtype);
    const std::int64_t f32 = parameter_count(config_) * 4;
    const std::int64_t bf16 = f32 - dry_load(config_).matrix_elements * 2;  // norms stay float32
    EXPECT_EQ(weights(""), dtype == DType::BF16 ? bf16 : f32) << name_of(dtype);
    EXPECT_EQ(weights("--dtype f32"), f32) << name_of(dtype);
    EXPECT_EQ(weights("--dtype bf16"), bf16) << name_of(dtype);
  }
}

// 28 layers, 4 heads of 128: 2 * 28 * 4 * (128 + 4) bytes.
TEST(Inspect, PlansForACacheOfEightBits) {
  const auto memory = [](const std::string& options) {
    const auto result =
        run_counterbeam("inspect --json --device cpu --shape qwen2.5-7b " + options);
    return parse_json(result.out, "output")["memory"];
  };
  const Json plain = memory("");
  EXPECT_EQ(plain["cache_dtype"], "bf16");
  EXPECT_EQ(plain["kv_per_token"], 57344);
  for (const std::string type : {"int8", "fp8"}) {
    const Json codes = memory("--beams 32 --cache-dtype " + type);
    EXPECT_EQ(codes["cache_dtype"], type);
    EXPECT_EQ(codes["kv_per_token"], 29568);
    EXPECT_LT(codes["cache"].get<double>(), 1.04 * plain["cache"].get<double>());  // 16 beams
  }
  EXPECT_NE(run_counterbeam("inspect --device cpu --shape qwen2.5-7b --cache-dtype fp8")
                .out.find("keys and values 28.9 KiB per token, in fp8"),
            std::string::npos);
}

TEST_F(InspectTest, PlansForTheBeamsThatAskUses) {
  write_weights();
  const auto result = run_counterbeam("inspect --json " + model());
  EXPECT_EQ(parse_json(result.out, "output")["memory"]["beams"], 16);
}

TEST_F(InspectTest, NamesWhatDoesNotFit) {
  write_weights("model.norm.weight", "model.surprise");
  const auto result = run_counterbeam("inspect --json " + model());
  EXPECT_EQ(result.code, 2);
  const std::string problem = folder_.path().string() +
                              ": tensor model.norm.weight [8] is missing; config.json asks for it: "
                              "download the checkpoint again";
  EXPECT_EQ(result.err, "counterbeam: " + problem + "\n");
  const Json json = parse_json(result.out, "output");
  EXPECT_EQ(json["problems"], Json::array({problem}));
  EXPECT_EQ(json["unexpected"], Json({"tensor \"model.surprise\" is not expected"}));
}

TEST(Inspect, KnownShapes) {
  const auto result = run_counterbeam("inspect --shape qwen3.5-0.8b --json");
  EXPECT_EQ(parse_json(result.out, "output")["parameters"], 752393024);
  const auto unknown = run_counterbeam("inspect --shape gpt-5");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(
      unknown.err,
      "counterbeam: --shape \"gpt-5\": is not known (known: qwen2.5-7b, qwen2.5-32b, qwen2.5-0.5b, "
      "qwen3.5-0.8b, qwen3.5-2b, deepseek-math-7b)\n");
}

TEST(ShippedModels, AreFoundByName) {
  for (const auto& [name, architecture] :
       {std::pair{"tiny-dense", "Qwen2"}, {"tiny-hybrid", "Qwen3.5"}}) {
    const auto result = run_counterbeam(std::string("inspect --json --model ") + name);
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(parse_json(result.out, "output")["architecture"], architecture);
  }
  EXPECT_EQ(run_counterbeam("tokenize --model tiny-hybrid hello").code, 0);
  const auto unknown = run_counterbeam("inspect --model tiny-hybird");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(unknown.err,
            "counterbeam: --model \"tiny-hybird\": is neither a folder nor a model id of the form "
            "ORG/NAME; models that ship: tiny-dense, tiny-hybrid\n");
}

}  // namespace
}  // namespace counterbeam
