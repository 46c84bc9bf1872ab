#include "model/config_layers.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/quote.h"

namespace counterbeam {
namespace {

void read_delta_net(const JsonFields& fields, ModelConfig& config) {
  DeltaNetConfig& delta = config.delta;
  delta.key_heads = required_size(fields, "linear_num_key_heads", 1 << 16);
  delta.value_heads = required_size(fields, "linear_num_value_heads", 1 << 16);
  delta.key_dim = required_size(fields, "linear_key_head_dim", 1 << 16);
  delta.value_dim = required_size(fields, "linear_value_head_dim", 1 << 16);
  delta.conv_width = optional_size(fields, "linear_conv_kernel_dim", 64, 4);
  if (delta.value_heads % delta.key_heads != 0)
    fields.wrong("linear_num_value_heads",
                 fmt::format("is not a multiple of linear_num_key_heads {}", delta.key_heads));
  if (std::int64_t{delta.key_heads} * delta.key_dim > kMaxWidth ||
      std::int64_t{delta.value_heads} * delta.value_dim > kMaxWidth)
    fields.wrong("linear_num_value_heads",
                 fmt::format("times a head's width is above {}", kMaxWidth));
}

// These have one kind of layer, whatever the file lists.
bool has_uniform_layers(const ModelConfig& config) {
  return config.architecture == Architecture::Llama ||
         config.architecture == Architecture::Mistral || config.architecture == Architecture::Phi3;
}

// The window of sliding-window layers; 0 if the model has none.
int read_window(const JsonFields& fields, const ModelConfig& config) {
  if (config.architecture == Architecture::Llama || config.architecture == Architecture::Qwen35)
    return 0;
  // Phi-3 has a window in all layers as soon as the file names one.
  if (config.architecture == Architecture::Phi3)
    return static_cast<int>(fields.integer("sliding_window", 1, kMaxPositions).value_or(0));
  if (config.architecture != Architecture::Mistral && config.architecture != Architecture::Gemma3 &&
      !fields.boolean("use_sliding_window").value_or(false))
    return 0;
  // An absent key means transformers' default; null means no window.
  if (!fields.mentions("sliding_window"))
    return config.architecture == Architecture::SmolLm3 ? 0 : 4096;
  return static_cast<int>(fields.integer("sliding_window", 1, kMaxPositions).value_or(0));
}

// Whether layer i uses RoPE; false only for some layers of SmolLM3.
std::vector<bool> read_rope_layers(const JsonFields& fields, const ModelConfig& config) {
  std::vector<bool> rope(config.layers.size(), true);
  if (config.architecture != Architecture::SmolLm3) return rope;
  if (const Json* given = fields.array("no_rope_layers")) {
    if (given->size() != rope.size())
      bad_input("{}: no_rope_layers has {} entries for num_hidden_layers {}", fields.file(),
                given->size(), rope.size());
    for (std::size_t i = 0; i < rope.size(); ++i) {
      if ((*given)[i] != 0 && (*given)[i] != 1)
        bad_input("{}: no_rope_layers[{}] {} is not 0 or 1", fields.file(), i, shown((*given)[i]));
      rope[i] = (*given)[i] == 1;
    }
    return rope;
  }
  const int interval = optional_size(fields, "no_rope_layer_interval", kMaxLayers, 4);
  for (std::size_t i = 0; i < rope.size(); ++i) rope[i] = (static_cast<int>(i) + 1) % interval != 0;
  return rope;
}

// The default of layer_types: "full_attention", "sliding_attention" or "linear_attention" for every
// layer.
std::vector<std::string> default_layer_types(const JsonFields& fields, const ModelConfig& config,
                                             int window) {
  std::vector<std::string> types(config.layers.size(), "full_attention");
  const int first_sliding =
      static_cast<int>(fields.integer("max_window_layers", 0, 1 << 20).value_or(28));
  const int interval = optional_size(fields, "full_attention_interval", kMaxLayers, 4);
  const int pattern = optional_size(fields, "sliding_window_pattern", kMaxPositions, 6);
  for (std::size_t i = 0; i < types.size(); ++i) {
    const int layer = static_cast<int>(i);
    if (config.architecture == Architecture::Qwen35 && (layer + 1) % interval != 0)
      types[i] = "linear_attention";
    if (config.architecture == Architecture::Gemma3 && (layer + 1) % pattern != 0)
      types[i] = "sliding_attention";
    if (window == 0) continue;
    const bool sliding = has_uniform_layers(config) ||
                         (config.architecture == Architecture::SmolLm3 && !config.layers[i].rope) ||
                         ((config.architecture == Architecture::Qwen2 ||
                           config.architecture == Architecture::Qwen3) &&
                          layer >= first_sliding);
    if (sliding) types[i] = "sliding_attention";
  }
  return types;
}

std::vector<std::string> read_layer_types(const JsonFields& fields, const ModelConfig& config,
                                          int window) {
  const Json* given = has_uniform_layers(config) ? nullptr : fields.array("layer_types");
  if (!given) return default_layer_types(fields, config, window);
  if (given->size() != config.layers.size())
    bad_input("{}: layer_types has {} entries for num_hidden_layers {}", fields.file(),
              given->size(), config.layers.size());
  std::vector<std::string> types;
  for (const Json& type : *given) types.push_back(type.is_string() ? type : Json(shown(type)));
  return types;
}

}  // namespace

int required_size(const JsonFields& fields, std::string_view key, std::int64_t high) {
  const auto value = fields.integer(key, 1, high);
  if (!value) fields.missing(key, "the model cannot be run without it");
  return static_cast<int>(*value);
}

int optional_size(const JsonFields& fields, std::string_view key, std::int64_t high,
                  std::int64_t otherwise) {
  return static_cast<int>(fields.integer(key, 1, high).value_or(otherwise));
}

int size_of(const JsonFields& fields, const ModelConfig& config, std::string_view key,
            std::int64_t high, std::int64_t of_gemma3) {
  return config.architecture == Architecture::Gemma3 ? optional_size(fields, key, high, of_gemma3)
                                                     : required_size(fields, key, high);
}

void read_layers(const JsonFields& fields, ModelConfig& config) {
  config.layers.resize(
      static_cast<std::size_t>(size_of(fields, config, "num_hidden_layers", kMaxLayers, 26)));
  const std::vector<bool> rope = read_rope_layers(fields, config);
  for (std::size_t i = 0; i < rope.size(); ++i) config.layers[i].rope = rope[i];
  const int window = read_window(fields, config);
  const std::vector<std::string> types = read_layer_types(fields, config, window);
  for (std::size_t i = 0; i < types.size(); ++i) {
    const bool linear =
        types[i] == "linear_attention" && config.architecture == Architecture::Qwen35;
    const bool sliding =
        types[i] == "sliding_attention" && config.architecture != Architecture::Qwen35;
    if (!linear && !sliding && types[i] != "full_attention")
      bad_input("{}: layer_types[{}] {} is not supported for model_type {} (supported: {})",
                fields.file(), i, in_quotes(types[i]), config.model_type,
                config.architecture == Architecture::Qwen35 ? "full_attention, linear_attention"
                                                            : "full_attention, sliding_attention");
    if (sliding && window == 0)
      bad_input("{}: layer_types[{}] is sliding_attention, but there is no sliding_window in use",
                fields.file(), i);
    if (linear) config.layers[i].mixer = Mixer::DeltaNet;
    if (sliding) config.layers[i].window = window;
  }
  if (config.delta_layers() > 0) read_delta_net(fields, config);
}

int ModelConfig::attention_layers() const {
  return static_cast<int>(std::count_if(layers.begin(), layers.end(), [](const LayerConfig& layer) {
    return layer.mixer == Mixer::Attention;
  }));
}

std::int64_t ModelConfig::kv_bytes_per_token(DType kv_dtype) const {
  return std::int64_t{2} * attention_layers() * kv_heads * head_dim *
         static_cast<std::int64_t>(bytes_of(kv_dtype));
}

std::int64_t ModelConfig::kv_code_bytes_per_token() const {
  constexpr auto kScale = static_cast<std::int64_t>(sizeof(float));
  return std::int64_t{2} * attention_layers() * kv_heads * (head_dim + kScale);
}

std::int64_t ModelConfig::state_bytes_per_sequence(DType conv_dtype) const {
  if (delta_layers() == 0) return 0;
  const std::int64_t recurrent = std::int64_t{delta.value_heads} * delta.key_dim * delta.value_dim *
                                 static_cast<std::int64_t>(bytes_of(DType::F32));
  const std::int64_t conv = std::int64_t{delta.conv_width - 1} * delta.conv_channels() *
                            static_cast<std::int64_t>(bytes_of(conv_dtype));
  return delta_layers() * (recurrent + conv);
}

std::string_view name_of(Architecture architecture) {
  switch (architecture) {
    case Architecture::Gemma3:
      return "Gemma 3";
    case Architecture::Llama:
      return "Llama";
    case Architecture::Mistral:
      return "Mistral";
    case Architecture::Phi3:
      return "Phi-3";
    case Architecture::Qwen2:
      return "Qwen2";
    case Architecture::Qwen3:
      return "Qwen3";
    case Architecture::Qwen35:
      return "Qwen3.5";
    case Architecture::SmolLm3:
      return "SmolLM3";
  }
  return "";
}

}  // namespace counterbeam
