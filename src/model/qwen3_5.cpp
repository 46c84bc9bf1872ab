// Qwen3.5 and Qwen3.6 (dense): Gated DeltaNet layers with a full attention layer at regular
// intervals. All norms are zero-centred except that of the DeltaNet output; attention has an output
// gate and partial RoPE.
#include "model/decoder.h"

namespace counterbeam {
namespace {

// q_proj computes a query and a gate per head: h += W_o (attention * sigmoid(gate)).
struct GatedAttention {
  Linear qkv;                              // [(2 heads + 2 kv_heads) * head_dim, hidden]
  Linear output;                           // [hidden, heads * head_dim]
  std::unique_ptr<Vector> q_norm, k_norm;  // [head_dim]
  int kv_layer = 0;
};

struct DeltaNet {
  Linear projections;               // qkv | z | b | a: [channels + value width + 2 Hv, hidden]
  Linear output;                    // [hidden, value width]
  std::unique_ptr<Vector> conv;     // [channels, conv_width]
  std::unique_ptr<Vector> a_log;    // [Hv]
  std::unique_ptr<Vector> dt_bias;  // [Hv]
  std::unique_ptr<Vector> norm;     // [value_dim]
  int state_layer = 0;
};

struct QwenLayer {
  std::unique_ptr<Vector> input_norm, mlp_norm;  // [hidden]
  std::unique_ptr<GatedAttention> attention;     // exactly one of the two
  std::unique_ptr<DeltaNet> delta;
  Mlp mlp;
};

std::unique_ptr<GatedAttention> load_attention(WeightOps& ops, WeightSource& weights,
                                               const ModelConfig& config, int layer) {
  const int d = config.head_dim;
  auto out = std::make_unique<GatedAttention>();
  const int q_width = 2 * config.heads * d;
  out->qkv = Linear::load(ops, weights,
                          {{layer_name(layer, "self_attn.q_proj"), q_width},
                           {layer_name(layer, "self_attn.k_proj"), config.kv_heads * d},
                           {layer_name(layer, "self_attn.v_proj"), config.kv_heads * d}},
                          config.hidden, config.qkv_bias);
  out->output = Linear::load(ops, weights, {{layer_name(layer, "self_attn.o_proj"), config.hidden}},
                             config.heads * d, config.output_bias);
  out->q_norm = load_vector(ops, weights, layer_name(layer, "self_attn.q_norm.weight"), {d});
  out->k_norm = load_vector(ops, weights, layer_name(layer, "self_attn.k_norm.weight"), {d});
  out->kv_layer = index_among(config, layer, Mixer::Attention);
  return out;
}

std::unique_ptr<DeltaNet> load_delta(WeightOps& ops, WeightSource& weights,
                                     const ModelConfig& config, int layer) {
  const DeltaNetConfig& delta = config.delta;
  auto out = std::make_unique<DeltaNet>();
  out->projections =
      Linear::load(ops, weights,
                   {{layer_name(layer, "linear_attn.in_proj_qkv"), delta.conv_channels()},
                    {layer_name(layer, "linear_attn.in_proj_z"), delta.value_width()},
                    {layer_name(layer, "linear_attn.in_proj_b"), delta.value_heads},
                    {layer_name(layer, "linear_attn.in_proj_a"), delta.value_heads}},
                   config.hidden, false);
  out->output =
      Linear::load(ops, weights, {{layer_name(layer, "linear_attn.out_proj"), config.hidden}},
                   delta.value_width(), false);
  out->conv = load_vector(ops, weights, layer_name(layer, "linear_attn.conv1d.weight"),
                          {delta.conv_channels(), 1, delta.conv_width});
  out->a_log =
      load_vector(ops, weights, layer_name(layer, "linear_attn.A_log"), {delta.value_heads});
  out->dt_bias =
      load_vector(ops, weights, layer_name(layer, "linear_attn.dt_bias"), {delta.value_heads});
  out->norm =
      load_vector(ops, weights, layer_name(layer, "linear_attn.norm.weight"), {delta.value_dim});
  out->state_layer = index_among(config, layer, Mixer::DeltaNet);
  return out;
}

class Qwen35 : public Model {
 public:
  Qwen35(const ModelConfig& config, WeightOps& ops, WeightSource& weights)
      : Model(config), rope_(make_rope(config.rope)) {
    load_ends(ops, weights);
    for (int i = 0; i < config.layer_count(); ++i) {
      QwenLayer layer;
      layer.input_norm =
          load_vector(ops, weights, layer_name(i, "input_layernorm.weight"), {config.hidden});
      layer.mlp_norm = load_vector(ops, weights, layer_name(i, "post_attention_layernorm.weight"),
                                   {config.hidden});
      if (config.layers[static_cast<std::size_t>(i)].mixer == Mixer::Attention) {
        layer.attention = load_attention(ops, weights, config, i);
      } else {
        layer.delta = load_delta(ops, weights, config, i);
      }
      layer.mlp = Mlp::load(ops, weights, config, i);
      layers_.push_back(std::move(layer));
      weights.done();
    }
  }

  Matrix forward(PassOps& ops, const Batch& batch, Cache& cache,
                 std::span<const int> wanted) const override {
    const Matrix h = embedded(ops, batch);
    const Matrix x = ops.matrix(h.rows, h.width);
    const Scratch scratch = make_scratch(ops, h.rows);
    for (const QwenLayer& layer : layers_) {
      ops.rms_norm(x, h, *layer.input_norm, config_.rms_norm_eps, norm_kind());
      if (layer.attention) {
        add_attention(ops, h, x, *layer.attention, scratch, cache);
      } else {
        add_delta(ops, h, x, *layer.delta, scratch, cache);
      }
      ops.rms_norm(x, h, *layer.mlp_norm, config_.rms_norm_eps, norm_kind());
      layer.mlp.add(ops, h, x, scratch.mlp);
    }
    return finished(ops, h, wanted);
  }

 private:
  struct Scratch {
    Matrix q_gate_kv;   // [rows, (2 heads + 2 kv_heads) * head_dim]
    Matrix q, gate;     // [rows, heads * head_dim]
    Matrix attended;    // [rows, heads * head_dim]
    Matrix projected;   // [rows, channels + value width + 2 Hv]
    Matrix convolved;   // [rows, channels]
    Matrix remembered;  // [rows, value width]
    Mlp::Scratch mlp;
  };

  Scratch make_scratch(PassOps& ops, int rows) const {
    const int q_width = config_.heads * config_.head_dim;
    const int kv_width = config_.kv_heads * config_.head_dim;
    const DeltaNetConfig& delta = config_.delta;
    return {ops.matrix(rows, 2 * q_width + 2 * kv_width),
            ops.matrix(rows, q_width),
            ops.matrix(rows, q_width),
            ops.matrix(rows, q_width),
            ops.matrix(rows, delta.conv_channels() + delta.value_width() + 2 * delta.value_heads),
            ops.matrix(rows, delta.conv_channels()),
            ops.matrix(rows, delta.value_width()),
            Mlp::scratch(ops, config_, rows)};
  }

  void add_attention(PassOps& ops, Matrix h, Matrix x, const GatedAttention& layer,
                     const Scratch& scratch, Cache& cache) const {
    const int q_width = scratch.q.width, kv_width = config_.kv_heads * config_.head_dim;
    const float eps = config_.rms_norm_eps;
    layer.qkv.apply(ops, scratch.q_gate_kv, x);
    const Matrix k = columns(ops, scratch.q_gate_kv, 2 * q_width, kv_width);
    const Matrix v = columns(ops, scratch.q_gate_kv, 2 * q_width + kv_width, kv_width);
    ops.split_and_norm(scratch.q, scratch.gate, columns(ops, scratch.q_gate_kv, 0, 2 * q_width),
                       *layer.q_norm, k, *layer.k_norm, eps, norm_kind());
    ops.rope_and_store(scratch.q, config_.heads, k, v, rope_, cache.kv(), layer.kv_layer,
                       cache.shape().kv);
    ops.attention(scratch.attended, scratch.q, cache.kv(), layer.kv_layer, config_.heads,
                  attention_scale(config_), 0);
    ops.sigmoid_gate(scratch.attended, scratch.gate);
    layer.output.add(ops, h, scratch.attended);
  }

  void add_delta(PassOps& ops, Matrix h, Matrix x, const DeltaNet& layer, const Scratch& scratch,
                 Cache& cache) const {
    const DeltaNetConfig& delta = config_.delta;
    const int channels = delta.conv_channels(), heads = delta.value_heads;
    layer.projections.apply(ops, scratch.projected, x);
    const Matrix qkv = columns(ops, scratch.projected, 0, channels);
    const Matrix z = columns(ops, scratch.projected, channels, delta.value_width());
    const Matrix b = columns(ops, scratch.projected, channels + delta.value_width(), heads);
    const Matrix a = columns(ops, scratch.projected, channels + delta.value_width() + heads, heads);
    ops.causal_conv(scratch.convolved, qkv, *layer.conv, cache.states(), layer.state_layer);
    ops.gated_delta_net(scratch.remembered,
                        {scratch.convolved, b, a, layer.a_log.get(), layer.dt_bias.get()},
                        cache.states(), layer.state_layer, z, *layer.norm, config_.rms_norm_eps);
    layer.output.add(ops, h, scratch.remembered);
  }

  std::vector<QwenLayer> layers_;
  Rope rope_;
};

}  // namespace

std::unique_ptr<Model> load_qwen3_5(const ModelConfig& config, WeightOps& ops,
                                    WeightSource& weights) {
  return std::make_unique<Qwen35>(config, ops, weights);
}

}  // namespace counterbeam
