#include "model/config.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/json_fields.h"
#include "model/config_layers.h"

namespace counterbeam {
namespace {

struct KnownType {
  std::string_view name;
  Architecture architecture;
};
constexpr std::array kTypes{
    KnownType{"gemma3", Architecture::Gemma3},       KnownType{"gemma3_text", Architecture::Gemma3},
    KnownType{"llama", Architecture::Llama},         KnownType{"mistral", Architecture::Mistral},
    KnownType{"phi3", Architecture::Phi3},           KnownType{"qwen2", Architecture::Qwen2},
    KnownType{"qwen3", Architecture::Qwen3},         KnownType{"qwen3_5", Architecture::Qwen35},
    KnownType{"qwen3_5_text", Architecture::Qwen35}, KnownType{"smollm3", Architecture::SmolLm3},
};

Architecture read_architecture(const JsonFields& fields) {
  const auto type = fields.string("model_type");
  if (!type) fields.missing("model_type", "the file is not a model's config.json");
  std::string names;
  for (const KnownType& known : kTypes) {
    if (known.name == *type) return known.architecture;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  }
  fields.wrong("model_type", fmt::format("is not supported (supported: {})", names));
}

void read_heads(const JsonFields& fields, ModelConfig& config) {
  const bool gemma3 = config.architecture == Architecture::Gemma3;
  config.heads = size_of(fields, config, "num_attention_heads", 1 << 16, 8);
  // Absent in models without grouped-query attention.
  config.kv_heads =
      optional_size(fields, "num_key_value_heads", 1 << 16, gemma3 ? 4 : config.heads);
  if (config.heads % config.kv_heads != 0)
    fields.wrong("num_key_value_heads",
                 fmt::format("does not divide num_attention_heads {}", config.heads));
  const int fixed = config.architecture == Architecture::Qwen3              ? 128
                    : gemma3 || config.architecture == Architecture::Qwen35 ? 256
                                                                            : 0;
  if (!fields.has("head_dim") && fixed == 0 && config.hidden % config.heads != 0)
    fields.wrong(
        "num_attention_heads",
        fmt::format("does not divide hidden_size {}, and there is no head_dim", config.hidden));
  config.head_dim =
      optional_size(fields, "head_dim", 1 << 16, fixed > 0 ? fixed : config.hidden / config.heads);
  if (std::int64_t{config.heads} * config.head_dim > kMaxWidth)
    fields.wrong("num_attention_heads",
                 fmt::format("times head_dim {} is above {}", config.head_dim, kMaxWidth));
}

// An Error for what Gemma 3 files could say and no published one does.
void read_gemma3(const JsonFields& fields, ModelConfig& config) {
  for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"})
    if (fields.has(key)) fields.wrong(key, "is not supported (supported: null)");
  if (fields.boolean("use_bidirectional_attention").value_or(false))
    fields.wrong("use_bidirectional_attention", "is not supported (supported: false)");
  config.zero_centred_norm = config.qk_norm = config.post_norms = true;
  config.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(config.hidden)));
  config.query_scalar = fields.number("query_pre_attn_scalar", 0, 1e15).value_or(256);
}

Activation read_activation(const JsonFields& fields, const char* key, const char* otherwise) {
  const std::string name = fields.string(key).value_or(otherwise);
  if (name == "silu" || name == "swish") return Activation::Silu;
  if (name == "gelu_pytorch_tanh") return Activation::GeluTanh;
  fields.wrong(key, "is not supported (supported: silu, gelu_pytorch_tanh)");
}

void read_switches(const JsonFields& fields, ModelConfig& config) {
  const bool attention_bias = fields.boolean("attention_bias").value_or(false);
  const bool mlp_bias = fields.boolean("mlp_bias").value_or(false);
  switch (config.architecture) {
    case Architecture::Qwen2:
      config.qkv_bias = true;
      break;
    case Architecture::Phi3:
      config.fused_tensors = true;
      break;
    case Architecture::Mistral:
      break;
    case Architecture::Gemma3:
      read_gemma3(fields, config);
      config.qkv_bias = config.output_bias = attention_bias;
      break;
    case Architecture::Qwen35:
      config.zero_centred_norm = config.output_gate = true;
      if (!fields.boolean("attn_output_gate").value_or(true))
        fields.wrong("attn_output_gate", "is not supported (supported: true)");
      [[fallthrough]];
    case Architecture::Qwen3:
      config.qk_norm = true;
      config.qkv_bias = config.output_bias = attention_bias;
      break;
    case Architecture::Llama:
    case Architecture::SmolLm3:
      config.qkv_bias = config.output_bias = attention_bias;
      config.mlp_bias = mlp_bias;
      break;
  }
  config.activation = config.architecture == Architecture::Gemma3
                          ? read_activation(fields, "hidden_activation", "gelu_pytorch_tanh")
                          : read_activation(fields, "hidden_act", "silu");
}

void read_ropes(const JsonFields& fields, ModelConfig& config) {
  const auto read = [&](const RopeDefaults& defaults) {
    return read_rope(fields, config.head_dim, config.max_positions, defaults);
  };
  switch (config.architecture) {
    case Architecture::Gemma3:
      config.rope = read({.theta = 1e6, .layer_type = "full_attention"});
      config.window_rope = read(
          {.theta = 1e4, .theta_key = "rope_local_base_freq", .layer_type = "sliding_attention"});
      return;
    case Architecture::Phi3:
      config.rope = read({.original_positions = 4096, .old_longrope_names = true});
      return;
    case Architecture::Qwen35:
      config.rope = read({.partial_rotary_factor = 0.25});
      return;
    case Architecture::SmolLm3:
      config.rope = read({.theta = 2e6});
      return;
    default:
      config.rope = read({});
  }
}

std::optional<DType> read_dtype(const JsonFields& fields) {
  const char* key = fields.has("dtype") ? "dtype" : "torch_dtype";
  const auto name = fields.string(key);
  if (!name || *name == "auto") return std::nullopt;
  std::string_view plain = *name;
  if (plain.starts_with("torch.")) plain.remove_prefix(6);
  if (plain == "bfloat16") return DType::BF16;
  if (plain == "float16" || plain == "half") return DType::F16;
  if (plain == "float32" || plain == "float") return DType::F32;
  fields.wrong(key, "is not supported (supported: bfloat16, float16, float32)");
}

// Older files call it compression_config; a wrapped text model may have its own.
std::optional<QuantConfig> read_quantised(const JsonFields& outer, const JsonFields& fields,
                                          const std::string& file) {
  for (const char* key : {"quantization_config", "compression_config"}) {
    if (const Json* value = outer.find(key))
      return parse_quant_config(*value, file, fmt::format("{}.", key));
    if (const Json* value = fields.find(key))
      return parse_quant_config(*value, file, fmt::format("text_config.{}.", key));
  }
  return std::nullopt;
}

void add_eos(const JsonFields& fields, std::vector<TokenId>& eos) {
  constexpr std::string_view kKey = "eos_token_id";
  const Json* value = fields.find(kKey);
  if (!value) return;
  if (!value->is_array()) {
    eos.push_back(static_cast<TokenId>(*fields.integer(kKey, 0, kMaxVocab)));
    return;
  }
  for (const Json& id : *value) {
    const bool fits = id.is_number_integer() && id >= 0 && id <= kMaxVocab;
    if (!fits) bad_input("{}: eos_token_id holds {}, not a token id", fields.file(), shown(id));
    eos.push_back(id.get<TokenId>());
  }
}

void sort_unique(std::vector<TokenId>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

Json read_small_json(const std::filesystem::path& path) {
  Json json = parse_json(read_file(path, kMaxConfigBytes), path.string());
  if (!json.is_object()) bad_input("{}: is not a JSON object", path.string());
  return json;
}

}  // namespace

ModelConfig parse_config(const Json& json, const std::string& file) {
  if (!json.is_object()) bad_input("{}: is not a JSON object", file);
  const JsonFields outer(json, file);
  // A text model may be wrapped in a multimodal config; its text part is then complete.
  const std::optional<JsonFields> text = outer.object("text_config");
  const JsonFields& fields = text ? *text : outer;
  const JsonFields& typed = fields.has("model_type") ? fields : outer;

  ModelConfig config;
  config.architecture = read_architecture(typed);
  config.model_type = *typed.string("model_type");
  config.hidden = size_of(fields, config, "hidden_size", kMaxWidth, 2304);
  config.intermediate = size_of(fields, config, "intermediate_size", kMaxWidth, 9216);
  config.vocab = size_of(fields, config, "vocab_size", kMaxVocab, 262208);
  config.max_positions = size_of(fields, config, "max_position_embeddings", kMaxPositions, 131072);
  const bool phi3 = config.architecture == Architecture::Phi3;
  config.rms_norm_eps =
      static_cast<float>(fields.number("rms_norm_eps", 0, 1).value_or(phi3 ? 1e-5 : 1e-6));
  read_heads(fields, config);
  read_switches(fields, config);
  read_layers(fields, config);
  read_ropes(fields, config);
  const JsonFields& tie = outer.has("tie_word_embeddings") ? outer : fields;
  config.tied = tie.boolean("tie_word_embeddings")
                    .value_or(config.architecture == Architecture::SmolLm3 ||
                              config.architecture == Architecture::Gemma3);
  config.dtype = read_dtype(fields.has("dtype") || fields.has("torch_dtype") ? fields : outer);
  config.quantised = read_quantised(outer, fields, file);
  add_eos(outer, config.eos);
  if (text) add_eos(*text, config.eos);
  sort_unique(config.eos);
  return config;
}

ModelConfig read_config(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "config.json";
  ModelConfig config = parse_config(read_small_json(path), path.string());
  if (!config.quantised) config.quantised = read_old_quant_config(folder);
  return config;
}

std::vector<TokenId> eos_ids(const std::filesystem::path& folder, const ModelConfig& config,
                             std::optional<TokenId> tokenizer_eos) {
  std::vector<TokenId> ids = config.eos;
  const std::filesystem::path path = folder / "generation_config.json";
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    const Json json = read_small_json(path);
    add_eos(JsonFields(json, path.string()), ids);
  }
  if (tokenizer_eos) ids.push_back(*tokenizer_eos);
  sort_unique(ids);
  return ids;
}

}  // namespace counterbeam
