// Tests every architecture against an independent forward pass in double precision, over whole
// sequences without cache, pages or batching. It needs no checkpoints from outside the repository.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>

#include "model/runner.h"

namespace counterbeam {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;
using testing::Logits;
using testing::Runner;

// Random weights that are recorded for the independent forward pass.
class NotedWeights : public WeightSource {
 public:
  TensorView get(const std::string& name, const Shape& shape) override {
    const TensorView view = random_.get(name, shape);
    notes_[name] = to_f32(view);
    return view;
  }
  void done() override { random_.done(); }
  const std::vector<float>& operator[](const std::string& name) const { return notes_.at(name); }

 private:
  RandomWeights random_{DType::F32, 11};
  std::map<std::string, std::vector<float>> notes_;
};

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
double silu(double x) {
  return x * sigmoid(x);
}
double gelu(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

class Forward {
 public:
  Forward(const ModelConfig& config, const NotedWeights& weights) : c_(config), w_(weights) {}

  Rows logits(const std::vector<TokenId>& ids) {
    Rows h;
    for (const TokenId id : ids) {
      h.push_back(row_of("embed_tokens.weight", id, c_.hidden));
      for (double& x : h.back()) x *= c_.embedding_scale;
    }
    for (int layer = 0; layer < c_.layer_count(); ++layer) {
      prefix_ = "layers." + std::to_string(layer) + ".";
      const LayerConfig& kind = c_.layers[static_cast<std::size_t>(layer)];
      const Rows x = normed(h, "input_layernorm.weight");
      const Rows mixed = kind.mixer == Mixer::Attention ? attention(x, kind) : delta_net(x);
      if (c_.post_norms) {
        add(h, normed(mixed, "post_attention_layernorm.weight"));
        add(h, normed(mlp(normed(h, "pre_feedforward_layernorm.weight")),
                      "post_feedforward_layernorm.weight"));
      } else {
        add(h, mixed);
        add(h, mlp(normed(h, "post_attention_layernorm.weight")));
      }
    }
    prefix_ = "";
    return product(normed(h, "norm.weight"), c_.tied ? "embed_tokens" : "lm_head", c_.vocab, false);
  }

 private:
  Row row_of(const std::string& name, int row, int width) const {
    const auto& all = w_[name];
    const auto from = all.begin() + std::ptrdiff_t{row} * width;
    return {from, from + width};
  }

  static void add(Rows& h, const Rows& more) {
    for (std::size_t t = 0; t < h.size(); ++t) {
      for (std::size_t i = 0; i < h[t].size(); ++i) h[t][i] += more[t][i];
    }
  }

  Row norm(const Row& x, const std::vector<float>& weight, bool zero_centred) const {
    double mean = 0;
    for (const double v : x) mean += v * v / static_cast<double>(x.size());
    Row out(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      out[i] = x[i] / std::sqrt(mean + c_.rms_norm_eps) * (weight[i] + (zero_centred ? 1 : 0));
    }
    return out;
  }

  Rows normed(const Rows& x, const std::string& name) const {
    Rows out;
    for (const Row& row : x) out.push_back(norm(row, w_[prefix_ + name], c_.zero_centred_norm));
    return out;
  }

  Rows product(const Rows& x, const std::string& name, int out, bool bias) const {
    const auto& weight = w_[prefix_ + name + ".weight"];
    Rows y;
    for (const Row& row : x) {
      Row sums(static_cast<std::size_t>(out));
      for (std::size_t o = 0; o < sums.size(); ++o) {
        sums[o] = bias ? w_[prefix_ + name + ".bias"][o] : 0;
        for (std::size_t i = 0; i < row.size(); ++i) sums[o] += weight[o * row.size() + i] * row[i];
      }
      y.push_back(std::move(sums));
    }
    return y;
  }

  // Columns from `width` on leave the rows.
  static Rows cut_off(Rows& rows, int width) {
    Rows rest;
    for (Row& row : rows) {
      rest.emplace_back(row.begin() + width, row.end());
      row.resize(static_cast<std::size_t>(width));
    }
    return rest;
  }

  Rows mlp(const Rows& x) const {
    Rows gate, up;
    if (c_.fused_tensors) {
      gate = product(x, "mlp.gate_up_proj", 2 * c_.intermediate, c_.mlp_bias);
      up = cut_off(gate, c_.intermediate);
    } else {
      gate = product(x, "mlp.gate_proj", c_.intermediate, c_.mlp_bias);
      up = product(x, "mlp.up_proj", c_.intermediate, c_.mlp_bias);
    }
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (std::size_t i = 0; i < gate[t].size(); ++i)
        gate[t][i] = (c_.activation == Activation::Silu ? silu : gelu)(gate[t][i]) * up[t][i];
    }
    return product(gate, "mlp.down_proj", c_.hidden, c_.mlp_bias);
  }

  // One head of a projection, after norm and RoPE.
  Row head(const Row& row, int at, std::size_t position, const char* norm_name,
           const LayerConfig& kind) const {
    const RopeConfig settings = kind.window > 0 ? c_.window_rope.value_or(c_.rope) : c_.rope;
    Row x(row.begin() + at, row.begin() + at + c_.head_dim);
    if (c_.qk_norm) x = norm(x, w_[prefix_ + norm_name], c_.zero_centred_norm);
    const int half = settings.width / 2;
    for (int j = 0; kind.rope && j < half; ++j) {
      const double divider = settings.dividers.empty() ? 1 : settings.dividers[std::size_t(j)];
      const double angle = static_cast<double>(position) *
                           std::pow(settings.theta, -2.0 * j / settings.width) / divider /
                           settings.factor;
      const double cosine = std::cos(angle) * settings.scale,
                   sine = std::sin(angle) * settings.scale;
      const double a = x[static_cast<std::size_t>(j)], b = x[static_cast<std::size_t>(j + half)];
      x[static_cast<std::size_t>(j)] = a * cosine - b * sine;
      x[static_cast<std::size_t>(j + half)] = b * cosine + a * sine;
    }
    return x;
  }

  Rows attention(const Rows& x, const LayerConfig& kind) const {
    const int d = c_.head_dim, step = c_.output_gate ? 2 * d : d;
    Rows q, k, v;
    if (c_.fused_tensors) {
      q = product(x, "self_attn.qkv_proj", (c_.heads + 2 * c_.kv_heads) * d, c_.qkv_bias);
      k = cut_off(q, c_.heads * d);
      v = cut_off(k, c_.kv_heads * d);
    } else {
      q = product(x, "self_attn.q_proj", c_.heads * step, c_.qkv_bias);
      k = product(x, "self_attn.k_proj", c_.kv_heads * d, c_.qkv_bias);
      v = product(x, "self_attn.v_proj", c_.kv_heads * d, c_.qkv_bias);
    }
    Rows out(x.size(), Row(static_cast<std::size_t>(c_.heads * d)));
    for (std::size_t t = 0; t < x.size(); ++t) {
      for (int h = 0; h < c_.heads; ++h) {
        const int kv = h / (c_.heads / c_.kv_heads) * d;
        const Row query = head(q[t], h * step, t, "self_attn.q_norm.weight", kind);
        const std::size_t window = static_cast<std::size_t>(kind.window);
        const std::size_t first = window > 0 && t + 1 > window ? t + 1 - window : 0;
        Row weights;
        double total = 0;
        for (std::size_t s = first; s <= t; ++s) {
          const Row key = head(k[s], kv, s, "self_attn.k_norm.weight", kind);
          double dot = 0;
          for (int i = 0; i < d; ++i) dot += query[std::size_t(i)] * key[std::size_t(i)];
          weights.push_back(std::exp(dot / std::sqrt(c_.query_scalar > 0 ? c_.query_scalar : d)));
          total += weights.back();
        }
        for (int i = 0; i < d; ++i) {
          double sum = 0;
          for (std::size_t s = first; s <= t; ++s) {
            sum += weights[s - first] / total * v[s][std::size_t(kv + i)];
          }
          if (c_.output_gate) sum *= sigmoid(q[t][std::size_t(h * step + d + i)]);
          out[t][std::size_t(h * d + i)] = sum;
        }
      }
    }
    return product(out, "self_attn.o_proj", c_.hidden, c_.output_bias);
  }

  static Row unit(const Row& row, int at, int size) {
    Row x(row.begin() + at, row.begin() + at + size);
    double sum = 1e-6;
    for (const double v : x) sum += v * v;
    for (double& v : x) v /= std::sqrt(sum);
    return x;
  }

  Rows delta_net(const Rows& x) const {
    const DeltaNetConfig& n = c_.delta;
    const std::string at = prefix_ + "linear_attn.";
    const Rows u = product(x, "linear_attn.in_proj_qkv", n.conv_channels(), false);
    const Rows z = product(x, "linear_attn.in_proj_z", n.value_width(), false);
    const Rows b = product(x, "linear_attn.in_proj_b", n.value_heads, false);
    const Rows a = product(x, "linear_attn.in_proj_a", n.value_heads, false);
    Rows c = u;
    for (int t = 0; t < int(x.size()); ++t) {
      for (int ch = 0; ch < n.conv_channels(); ++ch) {
        double sum = 0;
        for (int i = 0; i < n.conv_width; ++i) {
          const int from = t - n.conv_width + 1 + i;
          const double tap = w_[at + "conv1d.weight"][std::size_t(ch * n.conv_width + i)];
          if (from >= 0) sum += tap * u[std::size_t(from)][std::size_t(ch)];
        }
        c[std::size_t(t)][std::size_t(ch)] = silu(sum);
      }
    }
    Rows out(x.size(), Row(std::size_t(n.value_width())));
    for (int h = 0; h < n.value_heads; ++h) {
      const int key_head = h / (n.value_heads / n.key_heads);
      Rows state(std::size_t(n.key_dim), Row(std::size_t(n.value_dim)));
      for (std::size_t t = 0; t < x.size(); ++t) {
        const Row q = unit(c[t], key_head * n.key_dim, n.key_dim);
        const Row k = unit(c[t], n.key_width() + key_head * n.key_dim, n.key_dim);
        const double beta = sigmoid(b[t][std::size_t(h)]);
        const double speed = std::exp(double(w_[at + "A_log"][std::size_t(h)]));
        const double drive = a[t][std::size_t(h)] + double(w_[at + "dt_bias"][std::size_t(h)]);
        const double decay = std::exp(-speed * std::log1p(std::exp(drive)));
        Row o(std::size_t(n.value_dim));
        for (std::size_t j = 0; j < o.size(); ++j) {
          double read = 0;
          for (std::size_t i = 0; i < k.size(); ++i) {
            state[i][j] *= decay;
            read += state[i][j] * k[i];
          }
          const double value = c[t][std::size_t(2 * n.key_width() + h * n.value_dim) + j];
          for (std::size_t i = 0; i < k.size(); ++i) {
            state[i][j] += k[i] * beta * (value - read);
            o[j] += state[i][j] * q[i] / std::sqrt(double(n.key_dim));
          }
        }
        const Row y = norm(o, w_[at + "norm.weight"], false);
        for (std::size_t j = 0; j < o.size(); ++j) {
          const std::size_t to = std::size_t(h * n.value_dim) + j;
          out[t][to] = y[j] * silu(z[t][to]);
        }
      }
    }
    return product(out, "linear_attn.out_proj", c_.hidden, false);
  }

  const ModelConfig& c_;
  const NotedWeights& w_;
  std::string prefix_;
};

ModelConfig base_config(Architecture architecture) {
  ModelConfig config;
  config.architecture = architecture;
  config.hidden = 24;
  config.intermediate = 40;
  config.vocab = 67;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 6;
  config.max_positions = 256;
  config.rope.width = 6;
  config.layers.resize(3);
  return config;
}

std::map<std::string, ModelConfig> configs() {
  std::map<std::string, ModelConfig> all;
  ModelConfig llama = base_config(Architecture::Llama);
  llama.qkv_bias = llama.output_bias = llama.mlp_bias = true;
  all["llama with biases"] = llama;
  ModelConfig mistral = base_config(Architecture::Mistral);
  for (LayerConfig& layer : mistral.layers) layer.window = 9;
  all["mistral with a window"] = mistral;
  ModelConfig gemma = base_config(Architecture::Gemma3);
  gemma.qk_norm = gemma.zero_centred_norm = gemma.post_norms = gemma.tied = true;
  gemma.activation = Activation::GeluTanh;
  gemma.embedding_scale = std::sqrt(24.0f);
  gemma.query_scalar = 17;
  gemma.layers[0].window = gemma.layers[2].window = 9;
  gemma.window_rope = gemma.rope;
  gemma.window_rope->theta = 100;
  gemma.rope.kind = RopeKind::Linear;
  gemma.rope.factor = 8;
  all["gemma 3"] = gemma;
  gemma.qkv_bias = gemma.output_bias = true;
  gemma.tied = false;
  gemma.kv_heads = 4;
  gemma.head_dim = gemma.rope.width = gemma.window_rope->width = 10;
  all["gemma 3 with biases and wide heads"] = gemma;
  ModelConfig phi = base_config(Architecture::Phi3);
  phi.fused_tensors = true;
  for (LayerConfig& layer : phi.layers) layer.window = 11;
  all["phi-3 with a window"] = phi;
  phi.rope.kind = RopeKind::LongRope;
  phi.rope.width = 4;
  phi.rope.dividers = {1.5, 9.0};
  phi.rope.scale = 1.2;
  all["phi-3 with longrope on a part of each head"] = phi;
  ModelConfig smollm = base_config(Architecture::SmolLm3);
  smollm.layers[1].rope = false;
  smollm.tied = true;
  all["smollm3 without rope in a layer"] = smollm;
  ModelConfig qwen2 = base_config(Architecture::Qwen2);
  qwen2.qkv_bias = qwen2.tied = true;
  qwen2.kv_heads = 1;
  all["qwen2 tied"] = qwen2;
  ModelConfig qwen3 = base_config(Architecture::Qwen3);
  qwen3.qk_norm = true;
  qwen3.head_dim = qwen3.rope.width = 10;
  all["qwen3 with wide heads"] = qwen3;
  ModelConfig qwen35 = base_config(Architecture::Qwen35);
  qwen35.qk_norm = qwen35.zero_centred_norm = qwen35.output_gate = qwen35.tied = true;
  qwen35.rope.width = 2;
  qwen35.layers[0].mixer = qwen35.layers[2].mixer = Mixer::DeltaNet;
  qwen35.delta = {.key_heads = 2, .value_heads = 4, .key_dim = 5, .value_dim = 7, .conv_width = 4};
  all["qwen3.5"] = qwen35;
  return all;
}

void expect_forward(const std::string& name, const ModelConfig& config, std::unique_ptr<Ops> ops) {
  NotedWeights weights;
  Runner runner(std::move(ops), config, weights);
  std::vector<TokenId> ids;
  for (int i = 0; i < 45; ++i) ids.push_back((i * i + 3 * i) % config.vocab);
  const Logits ours = by_prefill(runner, ids);
  const Rows theirs = Forward(config, weights).logits(ids);
  double error = 0, power = 0;
  for (std::size_t t = 0; t < ours.size(); ++t) {
    for (std::size_t i = 0; i < ours[t].size(); ++i) {
      error += std::pow(ours[t][i] - theirs[t][i], 2);
      power += std::pow(theirs[t][i], 2);
    }
  }
  EXPECT_GT(power, 0) << name;
  EXPECT_LE(error / power, 1e-9) << name;
  EXPECT_EQ(ours, by_pieces(runner, ids, {1})) << name;
  EXPECT_EQ(ours, by_pieces(runner, ids, {7, 32, 1})) << name;
  EXPECT_EQ(ours, by_forks(runner, ids)) << name;
  EXPECT_EQ(ours, in_company(runner, ids)) << name;
}

TEST(Forward, EveryArchitectureOnTheReferenceOps) {
  for (const auto& [name, config] : configs()) expect_forward(name, config, make_reference_ops());
}

TEST(Forward, EveryArchitectureOnTheCpuBackEnd) {
  for (const auto& [name, config] : configs()) {
    expect_forward(name, config, make_cpu_ops(Precision::F32, 1));
    expect_forward(name, config, make_cpu_ops(Precision::F32, 2));
  }
}

}  // namespace
}  // namespace counterbeam
