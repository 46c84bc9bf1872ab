// Small random models in GGUF, for every architecture.
#pragma once

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/gguf_writer.h"
#include "support/temporary_folder.h"
#include "tensor/block_matrix.h"
#include "tensor/dtype.h"

namespace counterbeam::testing {

// A file before it is written.
struct GgufFile {
  struct Stored {
    GgmlType type;
    std::vector<std::int64_t> shape;  // row-major
    std::string data;
  };
  std::map<std::string, std::string> keys;  // by name: the bytes of the key and its value
  std::map<std::string, Stored> tensors;

  void set(const std::string& name, std::vector<std::int64_t> shape,
           const std::vector<float>& values) {
    std::string data;
    for (const float value : values) data += raw(value);
    tensors[name] = {GgmlType::F32, std::move(shape), std::move(data)};
  }
  std::string bytes() const {
    GgufWriter writer;
    for (const auto& [name, key] : keys) writer.keys.push_back(key);
    for (const auto& [name, tensor] : tensors)
      writer.add(name, tensor.type, tensor.shape, tensor.data);
    return writer.bytes();
  }
};

inline void add_tokenizer(GgufFile& file) {
  const auto put = [&](std::string_view name, const std::string& key) {
    file.keys[std::string(name)] = key;
  };
  put("tokenizer.ggml.model", string_key("tokenizer.ggml.model", "gpt2"));
  put("tokenizer.ggml.pre", string_key("tokenizer.ggml.pre", "qwen2"));
  put("tokenizer.ggml.tokens",
      strings_key("tokenizer.ggml.tokens",
                  {"a", "b", "c", "d", "e", "f", "g", "h", "ab", "abc", "<end>", "[PAD11]"}));
  put("tokenizer.ggml.token_type",
      numbers_key<std::int32_t>("tokenizer.ggml.token_type", GgufKind::I32,
                                {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 5}));
  put("tokenizer.ggml.merges", strings_key("tokenizer.ggml.merges", {"a b", "ab c"}));
  put("tokenizer.ggml.eos_token_id", u32_key("tokenizer.ggml.eos_token_id", 10));
  put("tokenizer.chat_template",
      string_key("tokenizer.chat_template",
                 "{% for m in messages %}{{ m.content }}<end>{% endfor %}"));
}

// Two layers; heads are 16 wide, and the vocabulary has 12 tokens.
inline GgufFile small_gguf(const std::string& arch, int hidden = 32) {
  GgufFile file;
  std::mt19937 random(11);
  const auto key = [&](const std::string& name, std::uint32_t value) {
    file.keys[arch + "." + name] = u32_key(arch + "." + name, value);
  };
  const auto tensor = [&](const std::string& name, std::vector<std::int64_t> shape) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    const float scale = shape.size() == 2 ? 1 / std::sqrt(static_cast<float>(shape[1])) : 0.3f;
    std::normal_distribution<float> normal(0, scale);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) {
      value = normal(random);
      if (name.ends_with("norm.weight")) value += 1;
      if (name.ends_with("ssm_a")) value = -std::exp(value);
    }
    file.set(name, std::move(shape), values);
  };
  file.keys["general.architecture"] = string_key("general.architecture", arch);
  file.keys["general.name"] = string_key("general.name", "A small model");
  const int heads = hidden / 16, inner = 2 * hidden, kv = 16;
  key("block_count", 2);
  key("context_length", 64);
  key("embedding_length", static_cast<std::uint32_t>(hidden));
  key("feed_forward_length", static_cast<std::uint32_t>(inner));
  key("attention.head_count", static_cast<std::uint32_t>(heads));
  key("attention.head_count_kv", 1);
  file.keys[arch + ".attention.layer_norm_rms_epsilon"] =
      f32_key(arch + ".attention.layer_norm_rms_epsilon", 1e-6f);
  const bool qwen35 = arch == "qwen35", gemma3 = arch == "gemma3", phi3 = arch == "phi3";
  if (gemma3) key("attention.sliding_window", 3);
  if (qwen35) {
    key("full_attention_interval", 2);
    key("rope.dimension_count", 8);
    key("ssm.conv_kernel", 4);
    key("ssm.state_size", 16);
    key("ssm.group_count", 2);
    key("ssm.time_step_rank", 4);
    key("ssm.inner_size", 64);
  }
  tensor("token_embd.weight", {12, hidden});
  tensor("output_norm.weight", {hidden});
  for (int i = 0; i < 2; ++i) {
    const std::string at = "blk." + std::to_string(i) + ".";
    const auto in = [&](const std::string& name, std::vector<std::int64_t> shape) {
      tensor(at + name, std::move(shape));
    };
    in("attn_norm.weight", {hidden});
    if (qwen35 && i == 0) {
      in("attn_qkv.weight", {128, hidden});
      in("attn_gate.weight", {64, hidden});
      in("ssm_alpha.weight", {4, hidden});
      in("ssm_beta.weight", {4, hidden});
      in("ssm_conv1d.weight", {128, 4});
      in("ssm_a", {4});
      in("ssm_dt.bias", {4});
      in("ssm_norm.weight", {16});
      in("ssm_out.weight", {hidden, 64});
    } else {
      if (phi3) {
        in("attn_qkv.weight", {hidden + 2 * kv, hidden});
      } else {
        in("attn_q.weight", {qwen35 ? 2 * hidden : hidden, hidden});
        in("attn_k.weight", {kv, hidden});
        in("attn_v.weight", {kv, hidden});
      }
      in("attn_output.weight", {hidden, hidden});
      if (arch == "qwen3" || qwen35 || gemma3) {
        in("attn_q_norm.weight", {16});
        in("attn_k_norm.weight", {16});
      }
      if (arch == "qwen2") {
        in("attn_q.bias", {hidden});
        in("attn_k.bias", {kv});
        in("attn_v.bias", {kv});
      }
    }
    if (qwen35 || gemma3) in("post_attention_norm.weight", {hidden});
    if (!qwen35) in("ffn_norm.weight", {hidden});
    if (gemma3) in("post_ffw_norm.weight", {hidden});
    if (!phi3) in("ffn_gate.weight", {inner, hidden});
    in("ffn_up.weight", {phi3 ? 2 * inner : inner, hidden});
    in("ffn_down.weight", {hidden, inner});
  }
  add_tokenizer(file);
  return file;
}

// All matrices in another type: F16, BF16 or Q8_0.
inline GgufFile stored_as(GgufFile file, GgmlType type) {
  for (auto& [name, tensor] : file.tensors) {
    if (tensor.shape.size() != 2 || name.ends_with("conv1d.weight")) continue;
    std::vector<float> values(tensor.data.size() / 4);
    std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
    std::string data;
    if (type != GgmlType::Q8_0) {
      for (const float value : values)
        data += raw(type == GgmlType::F16 ? to_f16(value) : to_bf16(value));
    } else {
      for (std::size_t first = 0; first < values.size(); first += 32) {
        float most = 1e-9f;
        for (std::size_t l = 0; l < 32; ++l) most = std::max(most, std::abs(values[first + l]));
        const std::uint16_t scale = to_f16(most / 127);
        data += raw(scale);
        for (std::size_t l = 0; l < 32; ++l)
          data += static_cast<char>(
              std::lround(std::clamp(values[first + l] / from_f16(scale), -127.0f, 127.0f)));
      }
    }
    tensor.type = type;
    tensor.data = std::move(data);
  }
  return file;
}

// The same file with the numbers of its blocks in F32.
inline GgufFile decoded(GgufFile file) {
  for (auto& [name, tensor] : file.tensors) {
    if (!is_block_type(tensor.type)) continue;
    const int out = static_cast<int>(tensor.shape[0]), in = static_cast<int>(tensor.shape[1]);
    const std::string blocks = tensor.data;
    const BlockMatrix matrix{out, in, tensor.type,
                             reinterpret_cast<const std::byte*>(blocks.data())};
    std::vector<float> values(static_cast<std::size_t>(out) * static_cast<std::size_t>(in));
    for (int row = 0; row < out; ++row)
      matrix.read(row, 0,
                  std::span(values).subspan(static_cast<std::size_t>(row * in),
                                            static_cast<std::size_t>(in)));
    const std::vector<std::int64_t> shape = tensor.shape;
    file.set(name, shape, values);
  }
  return file;
}

}  // namespace counterbeam::testing
