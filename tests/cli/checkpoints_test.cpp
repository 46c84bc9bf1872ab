// inspect agrees with the loader: a table of checkpoints, good and bad. For each of them inspect
// accepts what loads and refuses what does not, with the message that loading ends with.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "base/error.h"
#include "engine/local_engine.h"
#include "model/dry_load.h"
#include "search/loaded_model.h"
#include "support/run_command.h"
#include "tensor/safetensors.h"

namespace counterbeam {
namespace {

namespace fs = std::filesystem;
using testing::run_counterbeam;
using testing::TemporaryFolder;

constexpr const char* kTokenizer =
    R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})";

Json config_of(const char* model_type) {
  Json json = {{"model_type", model_type},
               {"hidden_size", 16},
               {"intermediate_size", 24},
               {"num_hidden_layers", 2},
               {"num_attention_heads", 2},
               {"num_key_value_heads", 1},
               {"head_dim", 8},
               {"vocab_size", 10},
               {"eos_token_id", 2},
               {"max_position_embeddings", 64},
               {"tie_word_embeddings", false}};
  if (json["model_type"] == "qwen3_5_text") {
    json["layer_types"] = {"linear_attention", "full_attention"};
    json["linear_num_key_heads"] = 1;
    json["linear_num_value_heads"] = 2;
    json["linear_key_head_dim"] = 8;
    json["linear_value_head_dim"] = 8;
    json["linear_conv_kernel_dim"] = 4;
  }
  return json;
}

// A checkpoint before it is written: whole, until a case changes something.
struct Folder {
  Json config = config_of("llama");
  DType dtype = DType::BF16;
  std::string prefix = "model.";
  int shards = 1;
  std::set<std::string> missing;
  std::map<std::string, DType> dtypes;  // of single tensors
  std::map<std::string, Shape> shapes;  // of single tensors
  std::vector<std::string> extra;       // tensors that no model asks for
  std::map<std::string, std::string> files{{"tokenizer.json", kTokenizer},
                                           {"chat_template.jinja", "{{ messages }}"}};
  bool weights = true;
  std::function<void(const fs::path&)> afterwards = [](const fs::path&) {};
};

// A config that is not read has the tensors of a Llama.
std::vector<ExpectedTensor> tensors_of(const Folder& folder) {
  try {
    return expected_tensors(parse_config(folder.config, "test"), folder.prefix);
  } catch (const Error&) {
    return expected_tensors(parse_config(config_of("llama"), "test"), folder.prefix);
  }
}

void write_weights(const Folder& folder, const fs::path& path) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const ExpectedTensor& expected : tensors_of(folder)) {
    const auto& name = expected.name;
    if (folder.missing.contains(name)) continue;
    tensors.emplace_back(
        name, Tensor(folder.dtypes.contains(name) ? folder.dtypes.at(name) : folder.dtype,
                     folder.shapes.contains(name) ? folder.shapes.at(name) : expected.shape));
  }
  for (const std::string& name : folder.extra) tensors.emplace_back(name, Tensor(DType::F32, {2}));
  Json map;
  for (int shard = 0; shard < folder.shards; ++shard) {
    const std::string file =
        folder.shards == 1 ? "model.safetensors" : fmt::format("model-{}.safetensors", shard);
    std::vector<NamedTensor> named;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (static_cast<int>(i) % folder.shards != shard) continue;
      named.push_back({tensors[i].first, tensors[i].second.view()});
      map[tensors[i].first] = file;
    }
    write_safetensors(path / file, named);
  }
  if (folder.shards > 1)
    write_file(path / "model.safetensors.index.json", to_line({{"weight_map", map}}));
}

void write(const Folder& folder, const TemporaryFolder& to) {
  to.write("config.json", to_line(folder.config));
  for (const auto& [name, content] : folder.files) to.write(name, content);
  if (folder.weights) write_weights(folder, to.path());
  folder.afterwards(to.path());
}

struct Case {
  const char* name;
  bool good;
  std::function<void(Folder&)> change;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"llama", true, [](Folder&) {}},
      {"mistral", true, [](Folder& f) { f.config = config_of("mistral"); }},
      {"phi3", true, [](Folder& f) { f.config = config_of("phi3"); }},
      {"gemma3", true,
       [](Folder& f) {
         f.config = config_of("gemma3_text");
         f.config["hidden_activation"] = "gelu_pytorch_tanh";
       }},
      {"qwen2", true, [](Folder& f) { f.config = config_of("qwen2"); }},
      {"qwen3", true, [](Folder& f) { f.config = config_of("qwen3"); }},
      {"qwen3_5", true, [](Folder& f) { f.config = config_of("qwen3_5_text"); }},
      {"smollm3", true, [](Folder& f) { f.config = config_of("smollm3"); }},
      {"F32", true, [](Folder& f) { f.dtype = DType::F32; }},
      {"F16", true, [](Folder& f) { f.dtype = DType::F16; }},
      {"F32 norms in BF16", true, [](Folder& f) { f.dtypes["model.norm.weight"] = DType::F32; }},
      {"config names another dtype", true, [](Folder& f) { f.config["dtype"] = "float32"; }},
      {"tied", true, [](Folder& f) { f.config["tie_word_embeddings"] = true; }},
      {"tied with a head too", true,
       [](Folder& f) {
         f.config["tie_word_embeddings"] = true;
         f.extra = {"lm_head.weight"};
       }},
      {"biases", true, [](Folder& f) { f.config["attention_bias"] = f.config["mlp_bias"] = true; }},
      {"shards", true, [](Folder& f) { f.shards = 3; }},
      {"text part of a multimodal model", true,
       [](Folder& f) {
         f.prefix = "model.language_model.";
         f.extra = {"model.visual.patch"};
       }},
      {"extra tensors", true,
       [](Folder& f) {
         f.extra = {"model.surprise", "mtp.norm.weight"};
       }},
      {"added token beyond the vocabulary", true,
       [](Folder& f) {
         f.files["tokenizer.json"] =
             R"({"added_tokens": [{"id": 12, "content": "<image>", "special": true}],
                 "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})";
       }},
      {"no chat template", true, [](Folder& f) { f.files.erase("chat_template.jinja"); }},
      {"broken chat template", true,
       [](Folder& f) { f.files["chat_template.jinja"] = "{% if %}"; }},
      {"end token beyond the vocabulary", false, [](Folder& f) { f.config["eos_token_id"] = 99; }},

      {"F64 tensor", false,
       [](Folder& f) { f.dtypes["model.layers.1.mlp.up_proj.weight"] = DType::F64; }},
      {"F64 norm", false, [](Folder& f) { f.dtypes["model.norm.weight"] = DType::F64; }},
      {"I8 tensor", false,
       [](Folder& f) { f.dtypes["model.layers.0.self_attn.o_proj.weight"] = DType::I8; }},
      {"F8 embedding", false,
       [](Folder& f) { f.dtypes["model.embed_tokens.weight"] = DType::F8E4M3; }},
      {"missing tensor", false,
       [](Folder& f) { f.missing = {"model.layers.1.input_layernorm.weight"}; }},
      {"missing bias", false,
       [](Folder& f) {
         f.config = config_of("qwen2");
         f.missing = {"model.layers.0.self_attn.k_proj.bias"};
       }},
      {"two missing and one of another dtype", false,
       [](Folder& f) {
         f.missing = {"model.layers.1.mlp.down_proj.weight", "model.norm.weight"};
         f.dtypes["model.layers.0.mlp.up_proj.weight"] = DType::I32;
       }},
      {"missing head", false, [](Folder& f) { f.missing = {"lm_head.weight"}; }},
      {"missing embedding", false, [](Folder& f) { f.missing = {"model.embed_tokens.weight"}; }},
      {"missing recurrent parameter", false,
       [](Folder& f) {
         f.config = config_of("qwen3_5_text");
         f.missing = {"model.layers.0.linear_attn.A_log"};
       }},
      {"another shape", false,
       [](Folder& f) {
         f.shapes["model.layers.0.self_attn.k_proj.weight"] = {16, 8};
       }},
      {"a layer too few", false,
       [](Folder& f) {
         f.afterwards = [config = f.config](const fs::path& path) mutable {
           config["num_hidden_layers"] = 3;
           write_file(path / "config.json", to_line(config));
         };
       }},
      {"missing shard", false,
       [](Folder& f) {
         f.shards = 2;
         f.afterwards = [](const fs::path& path) { fs::remove(path / "model-1.safetensors"); };
       }},
      {"truncated file", false,
       [](Folder& f) {
         f.afterwards = [](const fs::path& path) {
           fs::resize_file(path / "model.safetensors", 2000);
         };
       }},
      {"no weights", false, [](Folder& f) { f.weights = false; }},
      {"pickled weights", false,
       [](Folder& f) {
         f.weights = false;
         f.files["pytorch_model.bin"] = "x";
       }},
      {"tokenizer of a larger model", false,
       [](Folder& f) {
         f.files["tokenizer.json"] =
             R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 10}, "merges": []}})";
       }},
      {"broken tokenizer", false, [](Folder& f) { f.files["tokenizer.json"] = "{"; }},
      {"end token that is none", false, [](Folder& f) { f.config["eos_token_id"] = "a"; }},
      {"end token that is none, in generation_config", false,
       [](Folder& f) { f.files["generation_config.json"] = R"({"eos_token_id": [1, "x"]})"; }},
      {"unknown architecture", false, [](Folder& f) { f.config["model_type"] = "gpt9"; }},
      {"unknown activation", false, [](Folder& f) { f.config["hidden_act"] = "gelu_x"; }},
      {"unknown rope", false,
       [](Folder& f) {
         f.config["rope_scaling"] = {{"rope_type", "spiral"}, {"factor", 2.0}};
       }},
      {"unknown dtype", false, [](Folder& f) { f.config["dtype"] = "float8"; }},
      {"quantised", false,
       [](Folder& f) {
         f.config["quantization_config"] = {{"quant_method", "gptq"}};
       }},
      {"no config", false,
       [](Folder& f) {
         f.afterwards = [](const fs::path& path) { fs::remove(path / "config.json"); };
       }},
      {"tokenizer and tensor", false,
       [](Folder& f) {
         f.files["tokenizer.json"] = "[]";
         f.missing = {"model.norm.weight"};
       }},
  };
  return all;
}

// What loading says: nothing, or the message it ends with.
std::string error_of_loading(const fs::path& folder) {
  try {
    LoadOptions options;
    options.device = "cpu";
    LoadedModel::load(folder.string(), options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BadInput) << error.what();
    return error.what();
  }
  return "";
}

testing::CommandResult inspect(const fs::path& folder) {
  return run_counterbeam("inspect --device cpu --json --model '" + folder.string() + "'");
}

TEST(Checkpoints, InspectAgreesWithTheLoader) {
  EXPECT_GE(cases().size(), 30u);
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    const TemporaryFolder folder;
    Folder content;
    one.change(content);
    write(content, folder);
    const std::string error = error_of_loading(folder.path());
    EXPECT_EQ(error.empty(), one.good) << error;
    const auto inspected = inspect(folder.path());
    EXPECT_EQ(inspected.code, error.empty() ? 0 : 2) << inspected.err;
    if (error.empty()) {
      EXPECT_EQ(inspected.err, "");
      continue;
    }
    EXPECT_EQ(inspected.err.rfind("counterbeam: " + error, 0), 0u) << inspected.err << error;
    if (inspected.out.empty()) continue;  // nothing could be said about the checkpoint
    EXPECT_EQ(parse_json(inspected.out, "output")["problems"][0], error);
  }
}

// Every problem is listed, in the order of loading; a tensor of another shape is not "unexpected".
TEST(Checkpoints, InspectListsEveryProblem) {
  const TemporaryFolder folder;
  Folder content;
  content.missing = {"model.norm.weight"};
  content.shapes["lm_head.weight"] = {3, 3};
  content.dtypes["model.layers.1.mlp.gate_proj.weight"] = DType::F64;
  write(content, folder);
  const auto inspected = inspect(folder.path());
  const std::string at = folder.path().string() + ": tensor ";
  EXPECT_EQ(inspected.err, "counterbeam: " + at +
                               "lm_head.weight has shape [3, 3], but config.json asks for [10, "
                               "16]; download the checkpoint again "
                               "(and 2 more problems)\n");
  const Json json = parse_json(inspected.out, "output");
  EXPECT_EQ(json["problems"],
            Json({at + "lm_head.weight has shape [3, 3], but config.json asks for [10, 16]; "
                       "download the checkpoint again",
                  at + "model.norm.weight [16] is missing; config.json asks for it: download the "
                       "checkpoint again",
                  at + "model.layers.1.mlp.gate_proj.weight is F64; only F32, BF16 and F16 weights "
                       "are supported"}));
  EXPECT_TRUE(json["unexpected"].empty()) << json["unexpected"];
}

TEST(Checkpoints, LoadingWarnsOfTensorsThatTheModelHasNoUseFor) {
  const TemporaryFolder folder;
  Folder content;
  write(content, folder);
  LoadOptions options;
  options.device = "cpu";
  EXPECT_TRUE(LoadedModel::load(folder.path().string(), options).warnings().empty());
  content.extra = {"model.layers.1.surprise", "model.surprise", "mtp.norm.weight"};
  write(content, folder);
  const LoadedModel model = LoadedModel::load(folder.path().string(), options);
  ASSERT_EQ(model.warnings().size(), 1u);
  EXPECT_NE(model.warnings()[0].find(
                "this model has no use for 2 tensors, such as \"model.layers.1.surprise\""),
            std::string::npos)
      << model.warnings()[0];
}

// logits and bench need no tokenizer: inspect says that it is absent and what that costs.
TEST(Checkpoints, WithoutATokenizerTheEngineLoads) {
  const TemporaryFolder folder;
  Folder content;
  content.files.clear();
  write(content, folder);
  EXPECT_NE(error_of_loading(folder.path()).find("tokenizer.json"), std::string::npos);
  EXPECT_NO_THROW(LocalEngine::load(*open_model(folder.path().string())));
  const auto inspected = inspect(folder.path());
  EXPECT_EQ(inspected.code, 0) << inspected.err;
  EXPECT_TRUE(parse_json(inspected.out, "output")["tokenizer"].is_null());
}

}  // namespace
}  // namespace counterbeam
