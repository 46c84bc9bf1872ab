// The reference back end: plain float32 loops with sums in double, one row after the other. Short
// rather than fast, so that it can be checked by reading. Every other back end is tested against
// it.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <numbers>

#include "backend/cache_codes.h"
#include "backend/draw.h"
#include "backend/int8_rows.h"
#include "backend/ops.h"
#include "base/error.h"

namespace counterbeam {
namespace {

struct PlainMatrix : PackedMatrix {
  std::vector<float> values;  // [out, in]
  const float* row(int i) const { return values.data() + std::size_t(i) * std::size_t(in); }
};

// Weights as whole numbers, for rows in 8 bits.
struct WholeMatrix : PlainMatrix {
  CodeForm form;
  WholeCodes codes;
  std::vector<int> whole;              // [out, in]
  std::vector<float> scales, offsets;  // [out, groups]; no offsets: zero

  WholeMatrix(PlainMatrix plain, const CodeForm& own_form, const WholeCodes& whole_codes,
              std::span<const StoredMatrix> parts)
      : PlainMatrix(std::move(plain)), form(own_form), codes(whole_codes) {
    std::vector<std::uint8_t> codes_of_row(static_cast<std::size_t>(in));
    std::vector<float> row_scales(static_cast<std::size_t>(form.groups)), row_offsets(row_scales);
    for (const StoredMatrix& part : parts) {
      for (int row = 0; row < part.out(); ++row) {
        read_codes(form, part, row, 0, codes_of_row);
        read_scales(form, part, row, row_scales, row_offsets);
        for (const std::uint8_t byte : codes_of_row)
          whole.push_back(form.kind == CodeKind::Int4 ? codes.table[byte & 15u] - codes.zero
                                                      : static_cast<std::int8_t>(byte));
        scales.insert(scales.end(), row_scales.begin(), row_scales.end());
        offsets.insert(offsets.end(), row_offsets.begin(), row_offsets.end());
      }
    }
  }
  // The product of one row, quantised chunk by chunk.
  float output(int o, std::span<const std::int8_t> q, std::span<const float> chunk_scales) const {
    double sum = 0;
    for (std::size_t chunk = 0; chunk < chunk_scales.size(); ++chunk) {
      const int first = static_cast<int>(chunk) * codes.chunk;
      const int last = std::min(first + codes.chunk, in);
      int products = 0, total = 0;
      for (int i = first; i < last; ++i) {
        products += q[i] * whole[std::size_t(o) * std::size_t(in) + std::size_t(i)];
        total += q[i];
      }
      const auto at = std::size_t(o) * std::size_t(form.groups) +
                      std::size_t(form.groups > 1 ? first / form.group : 0);
      sum += double(products) * double(chunk_scales[chunk]) * double(scales[at]);
      if (form.offsets) sum += double(total) * double(chunk_scales[chunk]) * double(offsets[at]);
    }
    return static_cast<float>(sum);
  }
};

struct PlainVector : Vector {
  std::vector<float> values;
};

const PlainMatrix& plain(const PackedMatrix& weight) {
  return static_cast<const PlainMatrix&>(weight);
}

const float* plain(const Vector& vector) {
  return static_cast<const PlainVector&>(vector).values.data();
}

// Memory that the system commits on first touch.
struct LazyFloats {
  explicit LazyFloats(std::size_t count)
      : values(static_cast<float*>(std::calloc(std::max<std::size_t>(count, 1), sizeof(float))),
               &std::free) {
    if (!values) failed("out of memory: {} MiB for the cache; ask for less", count >> 18);
  }
  std::unique_ptr<float, decltype(&std::free)> values;
};

struct PlainKv : KvStore {
  PlainKv(const KvShape& s, int pages)
      : shape(s),
        token_width(std::size_t(s.heads) * std::size_t(s.head_dim)),
        page_width(token_width * kPageTokens),
        layer_width(page_width * std::size_t(pages)),
        keys(layer_width * std::size_t(s.layers)),
        values(layer_width * std::size_t(s.layers)) {}

  // Where the token at `position` of a sequence lies, in keys and in values alike.
  std::size_t at(int layer, std::span<const PageId> pages, int position) const {
    return std::size_t(layer) * layer_width +
           std::size_t(pages[position / kPageTokens]) * page_width +
           std::size_t(position % kPageTokens) * token_width;
  }

  KvShape shape;
  std::size_t token_width, page_width, layer_width;
  LazyFloats keys, values;
};

struct PlainStates : StateStore {
  PlainStates(const StateShape& s, int slots)
      : shape(s),
        conv_size(std::size_t(s.conv_width - 1) * std::size_t(s.conv_channels())),
        memory_size(std::size_t(s.value_heads) * std::size_t(s.key_dim) * std::size_t(s.value_dim)),
        slot_size((conv_size + memory_size) * std::size_t(s.layers)),
        floats(slot_size * std::size_t(slots)) {}

  float* slot(StateId id) { return floats.values.get() + std::size_t(id) * slot_size; }
  // [conv_width - 1, channels], oldest first.
  float* conv(StateId id, int layer) {
    return slot(id) + std::size_t(layer) * (conv_size + memory_size);
  }
  // [value_heads, key_dim, value_dim]
  float* memory(StateId id, int layer) { return conv(id, layer) + conv_size; }

  StateShape shape;
  std::size_t conv_size, memory_size, slot_size;
  LazyFloats floats;
};

float* row(Matrix m, int i) {
  return static_cast<float*>(m.data) + std::ptrdiff_t{i} * m.stride;
}

float dot(const float* a, const float* b, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += double(a[i]) * double(b[i]);
  return static_cast<float>(sum);
}

float sigmoid(float x) {
  return 1.0f / (1.0f + std::exp(-x));
}

float silu(float x) {
  return x * sigmoid(x);
}

// x * sigmoid(2 u) = x / 2 * (1 + tanh(u)), without the difference of nearly equal numbers.
float gelu(float x) {
  const double wide = double(x),
               u = std::sqrt(2 / std::numbers::pi) * (wide + 0.044715 * wide * wide * wide);
  return static_cast<float>(wide / (1 + std::exp(-2 * u)));
}

float softplus(float x) {
  return x > 20.0f ? x : std::log1p(std::exp(x));
}

// 1 / root mean square, or with `mean` false 1 / root of the sum of squares.
float inverse_norm(const float* x, int n, float eps, bool mean) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += double(x[i]) * double(x[i]);
  return static_cast<float>(1.0 / std::sqrt((mean ? sum / n : sum) + double(eps)));
}

void append_f32(std::vector<float>& values, std::span<const TensorView> parts) {
  for (const TensorView& part : parts) {
    const std::size_t before = values.size();
    values.resize(before + static_cast<std::size_t>(part.shape.elements()));
    to_f32(part.dtype, part.data, std::span(values).subspan(before));
  }
}

class ReferenceOps : public Ops {
 public:
  explicit ReferenceOps(Activations activations = Activations::Float) : activations_(activations) {}

  std::string name() const override {
    return activations_ == Activations::Int8 ? "reference f32, int8 activations" : "reference f32";
  }
  const BackendCosts& costs() const override { return costs_; }

  std::unique_ptr<PackedMatrix> pack(std::span<const StoredMatrix> parts) override {
    auto packed = std::make_unique<PlainMatrix>();
    packed->out = stacked_rows(parts);
    packed->in = parts[0].in();
    const auto width = static_cast<std::size_t>(packed->in);
    packed->values.resize(static_cast<std::size_t>(packed->out) * width);
    std::span<float> rest = packed->values;
    for (const StoredMatrix& part : parts) {
      for (int row = 0; row < part.out(); ++row, rest = rest.subspan(width))
        part.read_row(row, 0, rest.first(width));
    }
    if (activations_ == Activations::Float) return packed;
    const std::optional<CodeForm> form = common_form(parts);
    const std::optional<WholeCodes> codes = form ? whole_codes(*form) : std::nullopt;
    if (!codes) return packed;
    return std::make_unique<WholeMatrix>(std::move(*packed), *form, *codes, parts);
  }

  std::unique_ptr<Vector> upload(std::span<const TensorView> parts) override {
    auto vector = std::make_unique<PlainVector>();
    append_f32(vector->values, parts);
    vector->size = static_cast<int>(vector->values.size());
    return vector;
  }

  std::unique_ptr<KvStore> make_kv_store(const KvShape& shape, int pages) override {
    return std::make_unique<PlainKv>(shape, pages);
  }

  void copy_page(KvStore& store, PageId from, PageId to, int tokens) override {
    auto& kv = static_cast<PlainKv&>(store);
    const std::size_t bytes = std::size_t(tokens) * kv.token_width * sizeof(float);
    for (int layer = 0; layer < kv.shape.layers; ++layer) {
      const std::size_t source = kv.at(layer, {&from, 1}, 0), target = kv.at(layer, {&to, 1}, 0);
      for (float* values : {kv.keys.values.get(), kv.values.values.get()}) {
        std::memcpy(values + target, values + source, bytes);
      }
    }
  }

  std::unique_ptr<StateStore> make_state_store(const StateShape& shape, int slots) override {
    return std::make_unique<PlainStates>(shape, slots);
  }

  void copy_state(StateStore& store, StateId from, StateId to) override {
    auto& states = static_cast<PlainStates&>(store);
    std::copy_n(states.slot(from), states.slot_size, states.slot(to));
  }

  void clear_state(StateStore& store, StateId state) override {
    auto& states = static_cast<PlainStates&>(store);
    std::fill_n(states.slot(state), states.slot_size, 0.0f);
  }

  void begin(const Batch& batch) override {
    batch_ = batch;
    arena_.clear();
  }

  Matrix matrix(int rows, int width) override {
    arena_.emplace_back(std::size_t(rows) * std::size_t(width));
    return {arena_.back().data(), rows, width, width};
  }

  void embed(Matrix out, const PackedMatrix& table, float scale) override {
    for_each(out, [&](int r, int i) { return plain(table).row(batch_.ids[r])[i] * scale; });
  }

  void rms_norm(Matrix out, Matrix x, const Vector& weight, float eps, NormKind kind) override {
    const float* w = plain(weight);
    const float offset = kind == NormKind::ZeroCentred ? 1.0f : 0.0f;
    for (int r = 0; r < x.rows; ++r) {
      for (int group = 0; group < x.width; group += weight.size) {
        const float* in = row(x, r) + group;
        float* to = row(out, r) + group;
        const float scale = inverse_norm(in, weight.size, eps, true);
        for (int i = 0; i < weight.size; ++i) to[i] = in[i] * scale * (offset + w[i]);
      }
    }
  }

  void matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias) override {
    product(out, x, weight, bias, false);
  }

  void matmul_add(Matrix sum, Matrix x, const PackedMatrix& weight, const Vector* bias) override {
    product(sum, x, weight, bias, true);
  }

  void add(Matrix sum, Matrix x) override {
    for_each(sum, [&](int r, int i) { return row(sum, r)[i] + row(x, r)[i]; });
  }

  void rope(Matrix x, int heads, const Rope& rope) override {
    const int half = static_cast<int>(rope.inverse_frequency.size());
    const int head_dim = x.width / heads;
    for_each_row([&](int r, int position, const Segment&) {
      for (int j = 0; j < half; ++j) {
        const float angle = static_cast<float>(position) * rope.inverse_frequency[j];
        const float c = std::cos(angle) * rope.scale, s = std::sin(angle) * rope.scale;
        for (int head = 0; head < heads; ++head) {
          float* at = row(x, r) + head * head_dim;
          const float first = at[j], second = at[j + half];
          at[j] = first * c - second * s;
          at[j + half] = second * c + first * s;
        }
      }
    });
  }

  void silu_mul(Matrix out, Matrix gate, Matrix up) override {
    for_each(out, [&](int r, int i) { return silu(row(gate, r)[i]) * row(up, r)[i]; });
  }

  void gelu_mul(Matrix out, Matrix gate, Matrix up) override {
    for_each(out, [&](int r, int i) { return gelu(row(gate, r)[i]) * row(up, r)[i]; });
  }

  void sigmoid_gate(Matrix out, Matrix gate) override {
    for_each(out, [&](int r, int i) { return row(out, r)[i] * sigmoid(row(gate, r)[i]); });
  }

  void split_heads(Matrix first, Matrix second, Matrix x, int heads) override {
    const int d = first.width / heads;
    for_each(first, [&](int r, int i) { return row(x, r)[i / d * 2 * d + i % d]; });
    for_each(second, [&](int r, int i) { return row(x, r)[i / d * 2 * d + d + i % d]; });
  }

  void store_kv(KvStore& store, int layer, Matrix k, Matrix v) override {
    auto& kv = static_cast<PlainKv&>(store);
    for_each_row([&](int r, int position, const Segment& segment) {
      const std::size_t at = kv.at(layer, segment.pages, position);
      store_token(kv.keys.values.get() + at, row(k, r), kv.shape);
      store_token(kv.values.values.get() + at, row(v, r), kv.shape);
    });
  }

  void attention(Matrix out, Matrix q, const KvStore& store, int layer, int heads, float scale,
                 int window) override {
    const auto& kv = static_cast<const PlainKv&>(store);
    for_each_row([&](int r, int position, const Segment& segment) {
      const int first = window > 0 ? std::max(0, position - window + 1) : 0;
      for (int head = 0; head < heads; ++head) {
        attend(row(out, r), row(q, r), kv, layer, segment, first, position, head, heads, scale);
      }
    });
  }

  void causal_conv(Matrix out, Matrix x, const Vector& weight, StateStore& store,
                   int layer) override {
    auto& states = static_cast<PlainStates&>(store);
    const int taps = states.shape.conv_width, channels = x.width;
    const float* w = plain(weight);  // [channels, taps]
    std::vector<float> now(static_cast<std::size_t>(channels));
    for_each_row([&](int r, int, const Segment& segment) {
      float* kept = states.conv(segment.state, layer);
      std::copy_n(row(x, r), channels, now.data());
      for (int c = 0; c < channels; ++c) {
        double sum = double(w[c * taps + taps - 1]) * double(now[c]);
        for (int t = 0; t < taps - 1; ++t) sum += double(w[c * taps + t]) * kept[t * channels + c];
        row(out, r)[c] = silu(static_cast<float>(sum));
      }
      if (taps == 1) return;
      std::copy(kept + channels, kept + states.conv_size, kept);
      std::copy_n(now.data(), channels, kept + (taps - 2) * channels);
    });
  }

  void delta_net(Matrix out, const DeltaNetInputs& in, StateStore& store, int layer) override {
    auto& states = static_cast<PlainStates&>(store);
    for_each_row([&](int r, int, const Segment& segment) {
      float* memory = states.memory(segment.state, layer);
      for (int head = 0; head < states.shape.value_heads; ++head) {
        delta_step(row(out, r), in, r, states.shape, head, memory);
      }
    });
  }

  void gated_norm(Matrix out, Matrix x, Matrix gate, const Vector& weight, float eps) override {
    rms_norm(out, x, weight, eps, NormKind::Plain);
    for_each(out, [&](int r, int i) { return row(out, r)[i] * silu(row(gate, r)[i]); });
  }

  void gather(Matrix out, Matrix x, std::span<const int> rows) override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(row(x, rows[i]), x.width, row(out, static_cast<int>(i)));
    }
  }

  std::vector<HeadResult> head(Matrix x, const PackedMatrix& weight,
                               std::span<const HeadJob> jobs) override {
    std::vector<float> all(std::size_t(x.rows) * std::size_t(weight.out));
    logits(all, x, weight);
    const auto of_row = [&](int r) {
      return std::span<const float>(all).subspan(std::size_t(r) * std::size_t(weight.out),
                                                 std::size_t(weight.out));
    };
    std::vector<HeadResult> results;
    for (const HeadJob& job : jobs) {
      std::vector<std::span<const float>> mixed;
      for (const auto& [mixed_row, share] : job.mix) mixed.push_back(of_row(mixed_row));
      const bool lost = job.follows >= 0 && !results[job.follows].finite;
      const TokenId drawn = job.follows >= 0 ? results[job.follows].token : -1;
      results.push_back(lost ? HeadResult{.finite = false}
                             : run_head_job(job, {of_row(job.row), mixed}, drawn));
    }
    return results;
  }

  void logits(std::span<float> out, Matrix x, const PackedMatrix& weight) override {
    product({out.data(), x.rows, weight.out, weight.out}, x, weight, nullptr, false);
  }

 private:
  static constexpr BackendCosts costs_{.activation_bytes = sizeof(float)};

  template <typename Visit>
  void for_each_row(const Visit& visit) {
    for (const Segment& segment : batch_.segments) {
      for (int i = 0; i < segment.rows; ++i) {
        visit(segment.first_row + i, segment.position + i, segment);
      }
    }
  }

  template <typename Value>
  static void for_each(Matrix out, const Value& value) {
    for (int r = 0; r < out.rows; ++r) {
      for (int i = 0; i < out.width; ++i) row(out, r)[i] = value(r, i);
    }
  }

  static void product(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias,
                      bool add) {
    const float* b = bias != nullptr ? plain(*bias) : nullptr;
    const auto* whole = dynamic_cast<const WholeMatrix*>(&weight);
    std::vector<std::int8_t> q(static_cast<std::size_t>(weight.in));
    std::vector<float> scales;
    for (int r = 0; r < x.rows; ++r) {
      if (whole) quantise_row({row(x, r), q.size()}, q, whole->codes.chunk, scales);
      for (int o = 0; o < weight.out; ++o) {
        const float product =
            whole ? whole->output(o, q, scales) : dot(plain(weight).row(o), row(x, r), weight.in);
        const float y = product + (b != nullptr ? b[o] : 0);
        row(out, r)[o] = add ? row(out, r)[o] + y : y;
      }
    }
  }

  // With codes, what is read back from them takes their place.
  static void store_token(float* to, const float* from, const KvShape& shape) {
    if (shape.type == CacheType::Plain) {
      std::copy_n(from, std::size_t(shape.heads) * std::size_t(shape.head_dim), to);
      return;
    }
    for (int head = 0; head < shape.heads; ++head, to += shape.head_dim, from += shape.head_dim) {
      const HeadCoder coder(shape.type, from, shape.head_dim);
      for (int i = 0; i < shape.head_dim; ++i)
        to[i] = code_value(shape.type, coder.code(from[i])) * coder.scale();
    }
  }

  static void quantise_row(std::span<const float> x, std::span<std::int8_t> q, int chunk,
                           std::vector<float>& scales) {
    const auto step = static_cast<std::size_t>(chunk);
    scales.clear();
    for (std::size_t i = 0; i < x.size(); i += step) {
      const std::size_t count = std::min(step, x.size() - i);
      scales.push_back(quantise_chunk(x.subspan(i, count), q.subspan(i, count)));
    }
  }

  static void attend(float* out, const float* q, const PlainKv& kv, int layer,
                     const Segment& segment, int first, int last, int head, int heads,
                     float scale) {
    const int d = kv.shape.head_dim;
    const std::size_t column = std::size_t(head / (heads / kv.shape.heads)) * std::size_t(d);
    std::vector<double> weights;
    for (int t = first; t <= last; ++t) {
      const float* key = kv.keys.values.get() + kv.at(layer, segment.pages, t) + column;
      weights.push_back(double(dot(q + head * d, key, d)) * double(scale));
    }
    const double top = *std::max_element(weights.begin(), weights.end());
    double total = 0;
    for (double& weight : weights) total += weight = std::exp(weight - top);
    std::vector<double> sum(static_cast<std::size_t>(d), 0.0);
    for (int t = first; t <= last; ++t) {
      const float* value = kv.values.values.get() + kv.at(layer, segment.pages, t) + column;
      for (int i = 0; i < d; ++i) sum[i] += weights[t - first] * double(value[i]);
    }
    for (int i = 0; i < d; ++i) out[head * d + i] = static_cast<float>(sum[i] / total);
  }

  // One token of the gated delta rule for one value head:
  // S <- e^g S;  m = S^T k;  delta = beta (v - m);  S <- S + k delta^T;  o = S^T q.
  static void delta_step(float* out, const DeltaNetInputs& in, int r, const StateShape& shape,
                         int head, float* memory) {
    const int dk = shape.key_dim, dv = shape.value_dim;
    const int key_head = head / (shape.value_heads / shape.key_heads);
    const float* q = row(in.qkv, r) + key_head * dk;
    const float* k = q + shape.key_heads * dk;
    const float* v = row(in.qkv, r) + 2 * shape.key_heads * dk + head * dv;
    const float q_scale = inverse_norm(q, dk, 1e-6f, false) / std::sqrt(static_cast<float>(dk));
    const float k_scale = inverse_norm(k, dk, 1e-6f, false);
    const float beta = sigmoid(row(in.beta, r)[head]);
    const float decay = std::exp(-std::exp(plain(*in.a_log)[head]) *
                                 softplus(row(in.decay, r)[head] + plain(*in.dt_bias)[head]));
    float* state = memory + std::size_t(head) * std::size_t(dk) * std::size_t(dv);  // [dk, dv]
    for (int j = 0; j < dv; ++j) {
      double read = 0;
      for (int i = 0; i < dk; ++i)
        read += double(state[i * dv + j] * decay) * double(k[i] * k_scale);
      const float delta = beta * (v[j] - static_cast<float>(read));
      double sum = 0;
      for (int i = 0; i < dk; ++i) {
        float& s = state[i * dv + j];
        s = s * decay + k[i] * k_scale * delta;
        sum += double(s) * double(q[i] * q_scale);
      }
      out[head * dv + j] = static_cast<float>(sum);
    }
  }

  const Activations activations_;
  Batch batch_;
  std::deque<std::vector<float>> arena_;
};

}  // namespace

std::unique_ptr<Ops> make_reference_ops() {
  return std::make_unique<ReferenceOps>(Activations::Float);
}

std::unique_ptr<Ops> make_int8_reference_ops() {
  return std::make_unique<ReferenceOps>(Activations::Int8);
}

}  // namespace counterbeam
