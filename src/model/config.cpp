#include "model/config.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/file.h"
#include "base/json_fields.h"
#include "model/config_layers.h"

namespace counterbeam {
namespace {

// A config is small; the bound keeps a hostile file from growing in memory.
constexpr std::size_t kMaxConfigBytes = 1 << 20;

struct KnownType {
  std::string_view name;
  Architecture architecture;
};
constexpr std::array kTypes{
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
  config.heads = required_size(fields, "num_attention_heads", 1 << 16);
  // Models older than grouped heads leave the key out.
  config.kv_heads = optional_size(fields, "num_key_value_heads", 1 << 16, config.heads);
  if (config.heads % config.kv_heads != 0)
    fields.wrong("num_key_value_heads",
                 fmt::format("does not divide num_attention_heads {}", config.heads));
  const int fixed = config.architecture == Architecture::Qwen3    ? 128
                    : config.architecture == Architecture::Qwen35 ? 256
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
  const std::string act = fields.string("hidden_act").value_or("silu");
  if (act != "silu" && act != "swish")
    fields.wrong("hidden_act", "is not supported (supported: silu)");
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

void refuse_quantised(const JsonFields& fields) {
  for (const char* key : {"quantization_config", "compression_config"})
    if (fields.has(key))
      bad_input(
          "{}: {} says that the weights are quantised, which is not supported; use the "
          "original bfloat16 or float16 checkpoint",
          fields.file(), key);
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
  const std::string text = read_file(path);
  if (text.size() > kMaxConfigBytes)
    bad_input("{}: is {} bytes long, more than the {} a config may have", path.string(),
              text.size(), kMaxConfigBytes);
  Json json = parse_json(text, path.string());
  if (!json.is_object()) bad_input("{}: is not a JSON object", path.string());
  return json;
}

}  // namespace

ModelConfig parse_config(const Json& json, const std::string& file) {
  if (!json.is_object()) bad_input("{}: is not a JSON object", file);
  const JsonFields outer(json, file);
  // Text models may be wrapped in a multimodal config; the text part then says it all.
  const std::optional<JsonFields> text = outer.object("text_config");
  const JsonFields& fields = text ? *text : outer;
  const JsonFields& typed = fields.has("model_type") ? fields : outer;
  refuse_quantised(outer);
  refuse_quantised(fields);

  ModelConfig config;
  config.architecture = read_architecture(typed);
  config.model_type = *typed.string("model_type");
  config.hidden = required_size(fields, "hidden_size", kMaxWidth);
  config.intermediate = required_size(fields, "intermediate_size", kMaxWidth);
  config.vocab = required_size(fields, "vocab_size", kMaxVocab);
  config.max_positions = required_size(fields, "max_position_embeddings", kMaxPositions);
  const bool phi3 = config.architecture == Architecture::Phi3;
  config.rms_norm_eps =
      static_cast<float>(fields.number("rms_norm_eps", 0, 1).value_or(phi3 ? 1e-5 : 1e-6));
  read_heads(fields, config);
  read_switches(fields, config);
  read_layers(fields, config);
  RopeDefaults defaults;
  if (config.architecture == Architecture::SmolLm3) defaults.theta = 2e6;
  if (config.architecture == Architecture::Qwen35) defaults.partial_rotary_factor = 0.25;
  if (phi3) defaults.original_positions = 4096;
  defaults.old_longrope_names = phi3;
  config.rope = read_rope(fields, config.head_dim, config.max_positions, defaults);
  const JsonFields& tie = outer.has("tie_word_embeddings") ? outer : fields;
  config.tied =
      tie.boolean("tie_word_embeddings").value_or(config.architecture == Architecture::SmolLm3);
  config.dtype = read_dtype(fields.has("dtype") || fields.has("torch_dtype") ? fields : outer);
  add_eos(outer, config.eos);
  if (text) add_eos(*text, config.eos);
  sort_unique(config.eos);
  return config;
}

ModelConfig read_config(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "config.json";
  return parse_config(read_small_json(path), path.string());
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
