// Tiny models with random weights, one with attention only and one with recurrent layers too. Steps
// take microseconds, and the engine is the real one.
#pragma once

#include <memory>
#include <vector>

#include "engine/local_engine.h"

namespace counterbeam::testing {

inline ModelConfig tiny_attention() {
  ModelConfig config;
  config.architecture = Architecture::Qwen3;
  config.model_type = "qwen3";
  config.hidden = 16;
  config.intermediate = 24;
  config.vocab = 50;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 8;
  config.max_positions = 400;
  config.tied = true;
  config.qk_norm = true;
  config.rope.width = 8;
  config.layers.resize(2);
  config.dtype = DType::F32;
  config.eos = {0};
  return config;
}

inline ModelConfig tiny_recurrent() {
  ModelConfig config = tiny_attention();
  config.architecture = Architecture::Qwen35;
  config.model_type = "qwen3_5_text";
  config.zero_centred_norm = config.output_gate = true;
  config.rope.width = 4;
  config.layers.resize(3);
  config.layers[0].mixer = config.layers[1].mixer = Mixer::DeltaNet;
  config.delta = {.key_heads = 1, .value_heads = 2, .key_dim = 8, .value_dim = 8, .conv_width = 4};
  return config;
}

// Gemma 3: layers with a window, each type of layer with its own rope, norms after attention and
// MLP.
inline ModelConfig tiny_windows() {
  ModelConfig config = tiny_attention();
  config.architecture = Architecture::Gemma3;
  config.model_type = "gemma3_text";
  config.zero_centred_norm = config.post_norms = true;
  config.activation = Activation::GeluTanh;
  config.embedding_scale = 4;
  config.query_scalar = 5;
  config.layers.resize(3);
  config.layers[0].window = config.layers[2].window = 7;
  config.window_rope = config.rope;
  config.window_rope->theta = 100;
  return config;
}

inline std::unique_ptr<LocalEngine> tiny_engine(const ModelConfig& config,
                                                LocalOptions options = {}) {
  if (options.isa.empty()) options.isa = "reference";
  return LocalEngine::random(config, options, 5);
}

inline std::vector<TokenId> some_tokens(int count, std::uint32_t which, int vocab = 50) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < count; ++i) {
    const DrawKey key{.seed = 99, .question = which, .position = static_cast<std::uint32_t>(i)};
    tokens.push_back(static_cast<TokenId>(uniform_below(key, static_cast<std::uint64_t>(vocab))));
  }
  return tokens;
}

inline Sequence open_one(Engine& engine, const std::vector<TokenId>& prompt) {
  return std::move(engine.open({&prompt, 1}).sequences[0]);
}

inline Extension extend_one(Engine& engine, ExtendRequest request) {
  return std::move(engine.extend({&request, 1})[0]);
}

inline std::vector<float> score_one(Engine& engine, Sequence& sequence,
                                    const std::vector<TokenId>& tokens) {
  const ScoreRequest request{&sequence, tokens};
  return std::move(engine.score({&request, 1})[0]);
}

// Compares the parts of an extension that depend only on the request.
inline bool same(const Extension& a, const Extension& b) {
  return a.tokens == b.tokens && a.logprobs == b.logprobs && a.drawn_logprobs == b.drawn_logprobs &&
         a.follower_logprobs == b.follower_logprobs && a.stopped == b.stopped && a.full == b.full;
}

}  // namespace counterbeam::testing
