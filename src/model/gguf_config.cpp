#include "model/gguf_config.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/quote.h"
#include "model/config_layers.h"
#include "model/gguf_fields.h"
#include "model/gguf_names.h"
#include "model/gguf_rope.h"
#include "tensor/block_matrix.h"

namespace counterbeam {
namespace {

struct GgufArchitecture {
  std::string_view name;
  Architecture architecture;
};
constexpr GgufArchitecture kGgufArchitectures[] = {
    {"gemma3", Architecture::Gemma3},  {"llama", Architecture::Llama},
    {"mistral3", Architecture::Llama}, {"phi3", Architecture::Phi3},
    {"qwen2", Architecture::Qwen2},    {"qwen3", Architecture::Qwen3},
    {"qwen35", Architecture::Qwen35},  {"smollm3", Architecture::SmolLm3},
};

std::string architecture_name(const GgufFields& fields) {
  const auto name = fields.string("general.architecture");
  if (!name) fields.missing("general.architecture", "the file does not hold a model");
  return std::string(*name);
}

class GgufConfigReader {
 public:
  explicit GgufConfigReader(const GgufCheckpoint& checkpoint)
      : checkpoint_(checkpoint),
        fields_(checkpoint.metadata(), checkpoint.name()),
        name_(architecture_name(fields_)) {}

  ModelConfig read() {
    read_architecture();
    refuse_what_is_not_run();
    read_sizes();
    read_layers();
    config_.rope = read_gguf_rope(checkpoint_, fields_, name_, config_);
    if (config_.architecture == Architecture::Gemma3) read_gemma3();
    read_switches();
    read_ends();
    return std::move(config_);
  }

 private:
  std::string own(std::string_view key) const { return fmt::format("{}.{}", name_, key); }

  int size(std::string_view key, std::int64_t high) const {
    const auto value = fields_.integer(own(key), 1, high);
    if (!value) fields_.missing(own(key), "the model cannot be run without it");
    return static_cast<int>(*value);
  }
  int size_or(std::string_view key, std::int64_t high, int otherwise) const {
    return static_cast<int>(fields_.integer(own(key), 1, high).value_or(otherwise));
  }

  bool has_tensor_ending(std::string_view ending) const {
    const auto tensors = checkpoint_.tensors();
    return std::any_of(tensors.begin(), tensors.end(),
                       [&](const GgufTensor& tensor) { return tensor.name.ends_with(ending); });
  }

  void read_architecture() {
    std::string names;
    for (const GgufArchitecture& known : kGgufArchitectures) {
      if (known.name == name_) {
        config_.architecture = known.architecture;
        config_.model_type = name_;
        return;
      }
      names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
    }
    fields_.wrong("general.architecture", fmt::format("is not supported (supported: {})", names));
  }

  // Settings that other models of the same architecture use, and that change the numbers.
  void refuse_what_is_not_run() const {
    if (fields_.integer(own("expert_count"), 0, 1 << 16).value_or(0) > 0)
      fields_.wrong(own("expert_count"), "is not supported: mixtures of experts are not run");
    if (!fields_.boolean(own("attention.causal")).value_or(true))
      fields_.wrong(own("attention.causal"), "is not supported (supported: true)");
    for (const char* key :
         {"attention.clamp_kqv", "attention.max_alibi_bias", "attention.scale",
          "attention.temperature_scale", "attn_logit_softcapping", "final_logit_softcapping",
          "logit_scale", "residual_scale", "embedding_scale"})
      if (const GgufValue* value = fields_.find(own(key)); value && value->number() != 0.0)
        fields_.wrong(own(key), "is not supported (supported: 0, or no such key)");
  }

  void read_sizes() {
    config_.hidden = size("embedding_length", kMaxWidth);
    config_.intermediate = size("feed_forward_length", kMaxWidth);
    config_.max_positions = size("context_length", kMaxPositions);
    config_.heads = size("attention.head_count", 1 << 16);
    config_.kv_heads = size_or("attention.head_count_kv", 1 << 16, config_.heads);
    if (config_.heads % config_.kv_heads != 0)
      fields_.wrong(own("attention.head_count_kv"),
                    fmt::format("does not divide attention.head_count {}", config_.heads));
    const std::string key_length = own("attention.key_length");
    if (!fields_.has(key_length) && config_.hidden % config_.heads != 0)
      fields_.wrong(own("attention.head_count"),
                    fmt::format("does not divide embedding_length {}, and there is no "
                                "attention.key_length",
                                config_.hidden));
    config_.head_dim = size_or("attention.key_length", 1 << 16, config_.hidden / config_.heads);
    if (size_or("attention.value_length", 1 << 16, config_.head_dim) != config_.head_dim)
      fields_.wrong(
          own("attention.value_length"),
          fmt::format("is not attention.key_length {}, which is not supported", config_.head_dim));
    if (std::int64_t{config_.heads} * config_.head_dim > kMaxWidth)
      fields_.wrong(
          own("attention.head_count"),
          fmt::format("times the width of a head, {}, is above {}", config_.head_dim, kMaxWidth));
    const std::string epsilon = own("attention.layer_norm_rms_epsilon");
    const auto given = fields_.number(epsilon, 0, 1);
    if (!given) fields_.missing(epsilon, "the model cannot be run without it");
    config_.rms_norm_eps = static_cast<float>(*given);
  }

  void read_layers() {
    const int blocks = size("block_count", kMaxLayers);
    const int drafts = gguf_draft_layers(checkpoint_.metadata(), fields_.file());
    if (drafts >= blocks)
      fields_.wrong(own("nextn_predict_layers"),
                    fmt::format("is not below block_count {}", blocks));
    config_.layers.resize(static_cast<std::size_t>(blocks - drafts));
    if (config_.architecture == Architecture::Qwen35) return read_mixers();
    if (config_.architecture == Architecture::SmolLm3)
      for (std::size_t i = 3; i < config_.layers.size(); i += 4) config_.layers[i].rope = false;
    read_windows();
  }

  // The tensors of a layer say what it is: files record only one of the patterns that exist.
  void read_mixers() {
    const int interval = size_or("full_attention_interval", kMaxLayers, 4);
    for (std::size_t i = 0; i < config_.layers.size(); ++i) {
      const bool attention = checkpoint_.find(fmt::format("blk.{}.attn_q.weight", i)) != nullptr;
      const bool linear = checkpoint_.find(fmt::format("blk.{}.ssm_out.weight", i)) != nullptr;
      const bool listed = (static_cast<int>(i) + 1) % interval != 0;
      if (attention == linear ? listed : linear) config_.layers[i].mixer = Mixer::DeltaNet;
    }
    if (config_.delta_layers() > 0) read_delta_net();
  }

  void read_delta_net() {
    DeltaNetConfig& delta = config_.delta;
    delta.conv_width = size("ssm.conv_kernel", 64);
    delta.key_dim = size("ssm.state_size", 1 << 16);
    delta.key_heads = size("ssm.group_count", 1 << 16);
    delta.value_heads = size("ssm.time_step_rank", 1 << 16);
    const int inner = size("ssm.inner_size", kMaxWidth);
    if (delta.value_heads % delta.key_heads != 0)
      fields_.wrong(own("ssm.time_step_rank"),
                    fmt::format("is not a multiple of ssm.group_count {}", delta.key_heads));
    if (inner % delta.value_heads != 0)
      fields_.wrong(own("ssm.inner_size"),
                    fmt::format("is not a multiple of ssm.time_step_rank {}", delta.value_heads));
    delta.value_dim = inner / delta.value_heads;
    if (std::int64_t{delta.key_heads} * delta.key_dim > kMaxWidth)
      fields_.wrong(own("ssm.group_count"),
                    fmt::format("times ssm.state_size {} is above {}", delta.key_dim, kMaxWidth));
  }

  // Gemma 3 has a window in all but every 6th layer; the others have it everywhere.
  void read_windows() {
    const std::string key = own("attention.sliding_window");
    const auto window = static_cast<int>(fields_.integer(key, 0, kMaxPositions).value_or(0));
    const bool gemma3 = config_.architecture == Architecture::Gemma3;
    const std::string pattern = own("attention.sliding_window_pattern");
    const GgufValue* listed = fields_.find(pattern);
    if (listed && listed->array) {
      listed = fields_.array(pattern, GgufKind::Bool);
      if (listed->count < config_.layers.size())
        fields_.wrong(pattern, fmt::format("does not have an entry for each of {} layers",
                                           config_.layers.size()));
    } else {
      listed = nullptr;
    }
    const int period = listed ? 1 : size_or("attention.sliding_window_pattern", kMaxLayers, 6);
    for (std::size_t i = 0; i < config_.layers.size(); ++i) {
      const bool sliding =
          listed ? *listed->boolean(i) : !gemma3 || (static_cast<int>(i) + 1) % period != 0;
      if (sliding) config_.layers[i].window = window;
    }
  }

  void read_gemma3() {
    config_.qk_norm = config_.post_norms = true;
    config_.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(config_.hidden)));
    // The file does not say; of the published models only the largest, with 62 layers, differs.
    config_.query_scalar =
        config_.layer_count() == 62 ? config_.hidden / config_.heads : config_.head_dim;
    config_.activation = Activation::GeluTanh;
    RopeConfig window;
    window.width = config_.rope.width;
    window.theta = fields_.number(own("rope.freq_base_swa"), 1, 1e15).value_or(10000);
    config_.window_rope = window;
  }

  // Norms of 1 + w are stored with the 1 added, so all norms are plain.
  void read_switches() {
    config_.fused_tensors = config_.architecture == Architecture::Phi3;
    config_.output_gate = config_.architecture == Architecture::Qwen35;
    if (config_.architecture == Architecture::Qwen3 || config_.output_gate) config_.qk_norm = true;
    config_.qkv_bias = has_tensor_ending(config_.fused_tensors ? ".attn_qkv.bias" : ".attn_q.bias");
    config_.output_bias = has_tensor_ending(".attn_output.bias");
    config_.mlp_bias = has_tensor_ending(".ffn_up.bias");
  }

  void read_ends() {
    const GgufTensor* table = checkpoint_.find("token_embd.weight");
    if (table == nullptr)
      bad_input(
          "{}: has no tensor token_embd.weight; the file is not complete, or not a text model",
          fields_.file());
    const Shape shape = table->shape.rank() > 2 ? without_leading_ones(table->shape) : table->shape;
    if (shape.rank() != 2 || shape[0] < 1 || shape[0] > kMaxVocab)
      bad_input("{}: tensor token_embd.weight has shape {}, which is not a table of 1 to {} rows",
                fields_.file(), table->shape.to_string(), kMaxVocab);
    config_.vocab = static_cast<int>(shape[0]);
    config_.tied = checkpoint_.find("output.weight") == nullptr;
    config_.dtype = stored_dtype(table->type);
  }

  // Quantised models are computed in bf16, others as checkpoints of their dtype are.
  DType stored_dtype(GgmlType table) const {
    for (const GgufTensor& tensor : checkpoint_.tensors())
      if (is_block_type(tensor.type)) return DType::BF16;
    return table == GgmlType::BF16 ? DType::BF16 : table == GgmlType::F16 ? DType::F16 : DType::F32;
  }

  const GgufCheckpoint& checkpoint_;
  GgufFields fields_;
  std::string name_;
  ModelConfig config_;
};

}  // namespace

ModelConfig read_gguf_config(const GgufCheckpoint& checkpoint) {
  ModelConfig config = GgufConfigReader(checkpoint).read();
  checkpoint.check_metadata();
  return config;
}

bool has_paired_heads(Architecture architecture) {
  return architecture == Architecture::Llama || architecture == Architecture::SmolLm3;
}

int gguf_draft_layers(const GgufContent& metadata, const std::string& file) {
  const GgufFields fields(metadata, file);
  const std::string key = architecture_name(fields) + ".nextn_predict_layers";
  return static_cast<int>(fields.integer(key, 0, kMaxLayers).value_or(0));
}

}  // namespace counterbeam
