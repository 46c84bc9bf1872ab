// The sizes and options of a model that its forward pass needs, read from config.json or taken from
// the table of known shapes. Invariants of a ModelConfig that was read: sizes are positive and
// bounded so that their products fit int64, the number of query heads is a multiple of the key
// heads, the rotary width is even, and there is one LayerConfig per layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/shapes.h"
#include "base/ids.h"
#include "base/json.h"
#include "model/config_rope.h"
#include "model/quant_config.h"
#include "tensor/dtype.h"

namespace counterbeam {

// The longest config.json that is read. Real ones are far smaller.
inline constexpr std::size_t kMaxConfigBytes = 1 << 20;

enum class Architecture { Gemma3, Llama, Mistral, Phi3, Qwen2, Qwen3, Qwen35, SmolLm3 };

enum class Mixer { Attention, DeltaNet };  // softmax attention, or gated linear attention

struct LayerConfig {
  Mixer mixer = Mixer::Attention;
  int window = 0;    // sliding window: positions attended to, the own one included; 0 for all
  bool rope = true;  // false: no position encoding in this layer
};

// Gated DeltaNet (Qwen3.5); all zero if no layer has it.
struct DeltaNetConfig {
  int key_heads = 0;
  int value_heads = 0;  // a multiple of key_heads
  int key_dim = 0;      // per head
  int value_dim = 0;    // per head
  int conv_width = 0;

  int key_width() const { return key_heads * key_dim; }
  int value_width() const { return value_heads * value_dim; }
  int conv_channels() const { return 2 * key_width() + value_width(); }
};

struct ModelConfig {
  Architecture architecture = Architecture::Llama;
  std::string model_type;  // as the file says

  int hidden = 0;
  int intermediate = 0;
  int vocab = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int max_positions = 0;
  float rms_norm_eps = 1e-6f;

  bool tied = false;               // the output layer is the embedding table
  bool qkv_bias = false;           // on the q, k and v projections
  bool output_bias = false;        // on the o projection
  bool mlp_bias = false;           // on gate, up and down
  bool fused_tensors = false;      // q, k and v are one tensor on disk, and so are gate and up
  bool qk_norm = false;            // RMSNorm on every query and key head
  bool zero_centred_norm = false;  // norms multiply by 1 + w
  bool output_gate = false;        // q_proj computes queries and gates, interleaved per head
  bool post_norms = false;         // attention's and the MLP's results are normed, then added
  Activation activation = Activation::Silu;  // of the gate of the MLP
  float embedding_scale = 1;                 // embeddings are multiplied by it
  double query_scalar = 0;  // attention divides scores by the root of it; 0: of head_dim

  RopeConfig rope;
  std::optional<RopeConfig> window_rope;  // of the layers with a window, where it is another
  std::vector<LayerConfig> layers;        // [layers]
  DeltaNetConfig delta;

  std::optional<DType> dtype;              // as in the file: F32, BF16 or F16
  std::optional<QuantConfig> quantised{};  // none: all weights are plain numbers
  std::vector<TokenId> eos;                // as in the file; eos_ids() returns the complete set

  int layer_count() const { return static_cast<int>(layers.size()); }
  int attention_layers() const;
  int delta_layers() const { return layer_count() - attention_layers(); }

  std::int64_t kv_bytes_per_token(DType dtype) const;
  // In a cache of 8 bits: codes, and a scale for the keys and one for the values of every head.
  std::int64_t kv_code_bytes_per_token() const;
  // Recurrent states (float32) and the stored inputs of the convolutions (dtype).
  std::int64_t state_bytes_per_sequence(DType dtype) const;
};

// Reads FOLDER/config.json.
ModelConfig read_config(const std::filesystem::path& folder);

// The same from parsed JSON. Messages start with `file`.
ModelConfig parse_config(const Json& json, const std::string& file);

// The end-of-sequence tokens: the union of generation_config.json (which may be absent),
// config.json and the tokenizer's own end token, sorted and without duplicates.
std::vector<TokenId> eos_ids(const std::filesystem::path& folder, const ModelConfig& config,
                             std::optional<TokenId> tokenizer_eos);

// The shapes `--shape` knows: qwen2.5-7b, qwen2.5-32b, qwen2.5-0.5b, qwen3.5-0.8b, qwen3.5-2b,
// deepseek-math-7b. An Error that lists them for any other name.
ModelConfig known_shape(std::string_view name);
std::vector<std::string> known_shape_names();

std::string_view name_of(Architecture architecture);

}  // namespace counterbeam
