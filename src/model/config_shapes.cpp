// The shapes of `--shape`, as published.
#include <fmt/ranges.h>

#include <array>

#include "base/error.h"
#include "base/quote.h"
#include "model/config.h"

namespace counterbeam {
namespace {

// The sizes in which the known decoders differ.
struct Sizes {
  int hidden, intermediate, layers, heads, kv_heads, head_dim, vocab, max_positions;
  double theta;
};

ModelConfig decoder(Architecture architecture, std::string_view model_type, const Sizes& sizes) {
  ModelConfig config;
  config.architecture = architecture;
  config.model_type = model_type;
  config.hidden = sizes.hidden;
  config.intermediate = sizes.intermediate;
  config.heads = sizes.heads;
  config.kv_heads = sizes.kv_heads;
  config.head_dim = sizes.head_dim;
  config.vocab = sizes.vocab;
  config.max_positions = sizes.max_positions;
  config.rope.theta = sizes.theta;
  config.rope.width = sizes.head_dim;
  config.layers.resize(static_cast<std::size_t>(sizes.layers));
  config.dtype = DType::BF16;
  return config;
}

ModelConfig qwen25(const Sizes& sizes, bool tied) {
  ModelConfig config = decoder(Architecture::Qwen2, "qwen2", sizes);
  config.qkv_bias = true;
  config.tied = tied;
  config.eos = {151643};
  return config;
}

ModelConfig qwen35(int hidden, int intermediate) {
  ModelConfig config = decoder(Architecture::Qwen35, "qwen3_5_text",
                               {hidden, intermediate, 24, 8, 2, 256, 248320, 262144, 1e7});
  config.rope.width = 64;
  config.tied = config.qk_norm = config.zero_centred_norm = config.output_gate = true;
  config.delta = {16, 16, 128, 128, 4};
  for (std::size_t i = 0; i < config.layers.size(); ++i)
    if (i % 4 != 3) config.layers[i].mixer = Mixer::DeltaNet;
  config.eos = {248044};
  return config;
}

ModelConfig deepseek_math() {
  ModelConfig config =
      decoder(Architecture::Llama, "llama", {4096, 11008, 30, 32, 32, 128, 102400, 4096, 1e4});
  config.eos = {100001};
  return config;
}

struct KnownShape {
  const char* name;
  ModelConfig (*make)();
};

constexpr std::array kShapes{
    KnownShape{"qwen2.5-7b",
               [] {
                 return qwen25({3584, 18944, 28, 28, 4, 128, 152064, 131072, 1e6}, false);
               }},
    KnownShape{"qwen2.5-32b",
               [] {
                 return qwen25({5120, 27648, 64, 40, 8, 128, 152064, 131072, 1e6}, false);
               }},
    KnownShape{"qwen2.5-0.5b",
               [] {
                 return qwen25({896, 4864, 24, 14, 2, 64, 151936, 32768, 1e6}, true);
               }},
    KnownShape{"qwen3.5-0.8b", [] { return qwen35(1024, 3584); }},
    KnownShape{"qwen3.5-2b", [] { return qwen35(2048, 6144); }},
    KnownShape{"deepseek-math-7b", deepseek_math},
};

}  // namespace

std::vector<std::string> known_shape_names() {
  std::vector<std::string> names;
  for (const KnownShape& shape : kShapes) names.emplace_back(shape.name);
  return names;
}

ModelConfig known_shape(std::string_view name) {
  for (const KnownShape& shape : kShapes)
    if (name == shape.name) return shape.make();
  bad_input("--shape {}: is not known (known: {})", in_quotes(name),
            fmt::join(known_shape_names(), ", "));
}

}  // namespace counterbeam
