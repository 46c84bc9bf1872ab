// Small checkpoints of random weights, and what is in a folder.
#pragma once

#include <map>
#include <random>

#include "base/file.h"
#include "base/json.h"
#include "base/list_folder.h"
#include "model/config.h"
#include "model/dry_load.h"
#include "support/temporary_folder.h"
#include "tensor/safetensors.h"

namespace counterbeam::testing {

inline Json small_config(const std::string& model_type = "llama", int hidden = 128,
                         int intermediate = 256) {
  Json json = {{"model_type", model_type},
               {"hidden_size", hidden},
               {"intermediate_size", intermediate},
               {"num_hidden_layers", 2},
               {"num_attention_heads", 2},
               {"num_key_value_heads", 1},
               {"head_dim", hidden / 2},
               {"vocab_size", 20},
               {"eos_token_id", 2},
               {"max_position_embeddings", 64},
               {"rms_norm_eps", 1e-6},
               {"tie_word_embeddings", false}};
  if (model_type == "qwen3_5_text") {
    json["layer_types"] = {"linear_attention", "full_attention"};
    json["linear_num_key_heads"] = 1;
    json["linear_num_value_heads"] = 2;
    json["linear_key_head_dim"] = 32;
    json["linear_value_head_dim"] = 32;
    json["linear_conv_kernel_dim"] = 4;
  }
  return json;
}

struct SmallModel {
  Json config = small_config();
  DType dtype = DType::BF16;
  int shards = 1;
  std::string prefix = "model.";
  std::map<std::string, Shape> extra = {};    // tensors that no model asks for
  std::map<std::string, float> spoilt = {};   // tensors whose last element has this value
  std::map<std::string, float> factors = {};  // tensors that are larger than the others

  void write(const std::filesystem::path& folder) const {
    std::filesystem::create_directories(folder);
    write_file(folder / "config.json", config.dump());
    write_file(
        folder / "tokenizer.json",
        R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})");
    write_file(folder / "LICENSE", "ours");
    std::vector<ExpectedTensor> wanted = expected_tensors(parse_config(config, "test"), prefix);
    for (const auto& [name, shape] : extra) wanted.push_back({name, shape});
    std::mt19937 random(5);
    std::normal_distribution<float> normal(0, 0.05f);
    std::vector<std::vector<NamedTensor>> files(static_cast<std::size_t>(shards));
    std::vector<Tensor> tensors;
    Json map;
    for (const ExpectedTensor& tensor : wanted) {
      std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()));
      const float factor = factors.contains(tensor.name) ? factors.at(tensor.name) : 1;
      for (float& value : values) value = normal(random) * factor;
      if (spoilt.contains(tensor.name)) values.back() = spoilt.at(tensor.name);
      tensors.push_back(Tensor::from_f32(values, dtype, tensor.shape));
      const std::size_t shard = tensors.size() % files.size();
      files[shard].push_back({tensor.name, tensors.back().view()});
      map[tensor.name] = shard_name(shard);
    }
    for (std::size_t i = 0; i < files.size(); ++i)
      write_safetensors(folder / shard_name(i), files[i]);
    if (shards > 1)
      write_file(folder / "model.safetensors.index.json", to_line({{"weight_map", map}}));
  }

  std::string shard_name(std::size_t shard) const {
    return shards == 1 ? "model.safetensors" : fmt::format("model-{}.safetensors", shard);
  }
};

// Every file of a folder by name; those of folders in it are not there.
inline std::map<std::string, std::string> content_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const std::filesystem::path& path : list_folder(folder))
    files[path.filename().string()] =
        std::filesystem::is_directory(path) ? "a folder" : read_file(path);
  return files;
}

}  // namespace counterbeam::testing
