// Operations on sequences: RoPE, pages, attention, recurrent layers (simulated_device.h).
#include <cmath>
#include <map>
#include <vector>

#include "backend/cache_codes.h"
#include "base/error.h"
#include "cuda_host/simulated_device.h"

namespace counterbeam::cuda {
namespace {

using testing::enqueue;
using testing::number;
using testing::row_of;
using testing::sigmoid;
using testing::stored;

void turn(Matrix x, int heads, const DeviceRope& rope, const DeviceBatch& batch) {
  const int width = x.width / heads;
  for (int r = 0; r < x.rows; ++r) {
    if (batch.row_position[r] < 0) continue;
    for (int i = 0; i < heads * rope.half; ++i) {
      const int j = i % rope.half;
      Bf16* low = row_of(x, r) + i / rope.half * width + j;
      Bf16* high = low + rope.half;
      const float angle = static_cast<float>(batch.row_position[r]) * rope.inverse_frequency[j];
      const float c = std::cos(angle) * rope.scale, s = std::sin(angle) * rope.scale;
      const float a = number(*low), b = number(*high);
      *low = stored(a * c - b * s);
      *high = stored(b * c + a * s);
    }
  }
}

// The block of a page's head.
Bf16* block_at(Bf16* pool, const KvView& kv, int layer, int page, int head) {
  const std::size_t at = (std::size_t(layer) * std::size_t(kv.pages) + std::size_t(page)) *
                             std::size_t(kv.shape.heads) +
                         std::size_t(head);
  return pool + at * std::size_t(block_elements(kv.shape));
}

// Scale and codes of a token in a block of a cache of 8 bits.
struct Codes {
  Codes(Bf16* block, const KvShape& shape, int token)
      : scale(reinterpret_cast<float*>(block) + token),
        codes(reinterpret_cast<std::uint8_t*>(reinterpret_cast<float*>(block) + kPageTokens) +
              token * shape.head_dim) {}
  float* scale;
  std::uint8_t* codes;
};

void store_head(Bf16* block, const KvShape& shape, int token, const Bf16* from) {
  if (shape.type == CacheType::Plain) {
    std::copy_n(from, shape.head_dim, block + token * shape.head_dim);
    return;
  }
  std::vector<float> numbers;
  for (int i = 0; i < shape.head_dim; ++i) numbers.push_back(number(from[i]));
  const HeadCoder coder(shape.type, numbers.data(), shape.head_dim);
  const Codes to(block, shape, token);
  *to.scale = coder.scale();
  for (int i = 0; i < shape.head_dim; ++i) to.codes[i] = coder.code(numbers[std::size_t(i)]);
}

double read_head(Bf16* block, const KvShape& shape, int token, int column) {
  if (shape.type == CacheType::Plain) return double{number(block[token * shape.head_dim + column])};
  const Codes of(block, shape, token);
  return double{number(stored(code_value(shape.type, of.codes[column]) * *of.scale))};
}

// The page from which a row reads a key: from the tile list if there is one.
class PagesOfRows {
 public:
  explicit PagesOfRows(const DeviceBatch& batch) : batch_(batch) {
    for (int t = 0; batch.tiles != nullptr && t < *batch.tile_count; ++t) {
      const SharedTile& tile = batch.tiles[t];
      for (int i = 0; i < tile.readers; ++i)
        CB_CHECK(tiles_.emplace(std::pair(tile.row[i], tile.tile), &tile).second);
    }
  }
  int page(int row, int key) const {
    if (batch_.tiles != nullptr)
      return tiles_.at({row, key / kTileKeys})->pages[key % kTileKeys / kPageTokens];
    const DeviceSegment& segment = batch_.segments[batch_.row_segment[row]];
    return batch_.pages[segment.first_page + key / kPageTokens];
  }

 private:
  const DeviceBatch& batch_;
  std::map<std::pair<int, int>, const SharedTile*> tiles_;
};

void attend_head(Matrix out, Matrix q, const KvView& kv, int layer, int head, int kv_head,
                 float scale, int window, int row, int position, const PagesOfRows& pages) {
  const int d = kv.shape.head_dim, first = window > 0 ? std::max(0, position - window + 1) : 0;
  const Bf16* query = row_of(q, row) + head * d;
  std::vector<double> weights, sums(std::size_t(d), 0.0);
  double top = -INFINITY, sum = 0;
  for (int key = first; key <= position; ++key) {
    Bf16* block = block_at(kv.keys, kv, layer, pages.page(row, key), kv_head);
    double score = 0;
    for (int i = 0; i < d; ++i)
      score += double{number(query[i])} * read_head(block, kv.shape, key % kPageTokens, i);
    weights.push_back(score * double{scale});
    top = std::max(top, weights.back());
  }
  for (int key = first; key <= position; ++key) {
    Bf16* block = block_at(kv.values, kv, layer, pages.page(row, key), kv_head);
    const double weight = std::exp(weights[std::size_t(key - first)] - top);
    sum += weight;
    for (int i = 0; i < d; ++i)
      sums[std::size_t(i)] += weight * read_head(block, kv.shape, key % kPageTokens, i);
  }
  for (int i = 0; i < d; ++i)
    row_of(out, row)[head * d + i] = stored(static_cast<float>(sums[std::size_t(i)] / sum));
}

float* layer_state(const StateView& states, int slot, int layer) {
  return states.slots + std::size_t(slot) * states.slot_floats() +
         std::size_t(layer) * (states.conv_floats() + states.memory_floats());
}

std::vector<float> unit(const Bf16* x, int size, float scale) {
  float squares = 0;
  for (int i = 0; i < size; ++i) squares += number(x[i]) * number(x[i]);
  std::vector<float> y;
  for (int i = 0; i < size; ++i) y.push_back(number(x[i]) / std::sqrt(squares + 1e-6f) * scale);
  return y;
}

// One token of one head, whose state is [key_dim][value_dim].
void walk(float* state, const std::vector<float>& q, const std::vector<float>& k, const Bf16* v,
          float decay, float beta, int value_dim, Bf16* out) {
  for (int c = 0; c < value_dim; ++c) {
    float read = 0, sum = 0;
    for (std::size_t i = 0; i < k.size(); ++i) {
      float& s = state[i * std::size_t(value_dim) + std::size_t(c)];
      s *= decay;
      read += s * k[i];
    }
    const float delta = beta * (number(v[c]) - read);
    for (std::size_t i = 0; i < k.size(); ++i) {
      float& s = state[i * std::size_t(value_dim) + std::size_t(c)];
      s += k[i] * delta;
      sum += s * q[i];
    }
    out[c] = stored(sum);
  }
}

}  // namespace

void rope(cudaStream_t stream, Matrix x, int heads, const DeviceRope& rope,
          const DeviceBatch& batch) {
  enqueue(stream, [=] { turn(x, heads, rope, batch); });
}

void store_kv(cudaStream_t stream, const KvView& kv, int layer, Matrix k, Matrix v,
              const DeviceBatch& batch) {
  enqueue(stream, [=] {
    const int d = kv.shape.head_dim;
    for (int r = 0; r < k.rows; ++r) {
      const int position = batch.row_position[r], token = position % kPageTokens;
      if (position < 0) continue;
      const DeviceSegment& segment = batch.segments[batch.row_segment[r]];
      const int page = batch.pages[segment.first_page + position / kPageTokens];
      for (int h = 0; h < kv.shape.heads; ++h) {
        store_head(block_at(kv.keys, kv, layer, page, h), kv.shape, token, row_of(k, r) + h * d);
        store_head(block_at(kv.values, kv, layer, page, h), kv.shape, token, row_of(v, r) + h * d);
      }
    }
  });
}

void rope_and_store(cudaStream_t stream, Matrix q, Matrix k, Matrix v, int heads,
                    const DeviceRope& by, const KvView& kv, int layer, const DeviceBatch& batch) {
  rope(stream, q, heads, by, batch);
  rope(stream, k, kv.shape.heads, by, batch);
  store_kv(stream, kv, layer, k, v, batch);
}

std::size_t attention_workspace(int, int, int, int) {
  return 64;
}

void attention(cudaStream_t stream, Matrix out, Matrix q, const KvView& kv, int layer, int heads,
               float scale, int window, const DeviceBatch& batch, void*) {
  enqueue(stream, [=] {
    const PagesOfRows pages(batch);
    for (int r = 0; r < q.rows; ++r) {
      if (batch.row_position[r] < 0) continue;
      for (int h = 0; h < heads; ++h)
        attend_head(out, q, kv, layer, h, h / (heads / kv.shape.heads), scale, window, r,
                    batch.row_position[r], pages);
    }
  });
}

void causal_conv(cudaStream_t stream, Matrix out, Matrix x, const float* weight,
                 const StateView& states, int layer, const DeviceBatch& batch) {
  enqueue(stream, [=] {
    const int channels = states.shape.conv_channels(), taps = states.shape.conv_width;
    for (int s = 0; s < batch.segment_count; ++s) {
      const DeviceSegment& segment = batch.segments[s];
      if (segment.rows == 0) continue;
      float* kept = layer_state(states, segment.state, layer);
      for (int c = 0; c < channels; ++c) {
        std::vector<float> in;
        for (int t = 0; t < taps - 1; ++t) in.push_back(kept[t * channels + c]);
        for (int r = 0; r < segment.rows; ++r)
          in.push_back(number(row_of(x, segment.first_row + r)[c]));
        for (int r = 0; r < segment.rows; ++r) {
          float sum = 0;
          for (int t = 0; t < taps; ++t) sum += weight[c * taps + t] * in[std::size_t(r + t)];
          row_of(out, segment.first_row + r)[c] = stored(sum * sigmoid(sum));
        }
        for (int t = 0; t < taps - 1; ++t)
          kept[t * channels + c] = in[std::size_t(segment.rows + t)];
      }
    }
  });
}

void delta_net(cudaStream_t stream, Matrix out, const DeltaInputs& in, const StateView& states,
               int layer, const DeviceBatch& batch) {
  enqueue(stream, [=] {
    const StateShape& shape = states.shape;
    const int kd = shape.key_dim, vd = shape.value_dim;
    for (int i = 0; i < batch.segment_count * shape.value_heads; ++i) {
      const DeviceSegment& segment = batch.segments[i / shape.value_heads];
      const int h = i % shape.value_heads, key = h / (shape.value_heads / shape.key_heads);
      float* state = layer_state(states, segment.state, layer) + states.conv_floats() + h * kd * vd;
      for (int r = segment.first_row; r < segment.first_row + segment.rows; ++r) {
        const Bf16* q = row_of(in.qkv, r) + key * kd;
        const Bf16* k = q + shape.key_heads * kd;
        const Bf16* v = row_of(in.qkv, r) + 2 * shape.key_heads * kd + h * vd;
        const float raw = number(row_of(in.decay, r)[h]) + in.dt_bias[h];
        const float decay = std::exp(-std::exp(in.a_log[h]) * std::log1p(std::exp(raw)));
        walk(state, unit(q, kd, 1 / std::sqrt(static_cast<float>(kd))), unit(k, kd, 1), v, decay,
             sigmoid(number(row_of(in.beta, r)[h])), vd, row_of(out, r) + h * vd);
      }
    }
  });
}

void gated_delta_net(cudaStream_t stream, Matrix out, const DeltaInputs& in, Matrix gate,
                     const float* weight, float eps, const StateView& states, int layer,
                     const DeviceBatch& batch) {
  delta_net(stream, out, in, states, layer, batch);
  gated_norm(stream, out, out, gate, weight, states.shape.value_dim, eps);
}

// In reverse order: on a real device the order is undefined.
void copy_states(cudaStream_t stream, const StateView& states, const CopyList& copies) {
  enqueue(stream, [=] {
    const std::size_t floats = states.slot_floats();
    for (int i = copies.count - 1; i >= 0; --i)
      std::copy_n(states.slots + std::size_t(copies.from[i]) * floats, floats,
                  states.slots + std::size_t(copies.to[i]) * floats);
  });
}

void copy_pages(cudaStream_t stream, const KvView& kv, const CopyList& copies) {
  enqueue(stream, [=] {
    for (int i = copies.count - 1; i >= 0; --i) {
      for (int at = 0; at < kv.shape.layers * kv.shape.heads; ++at) {
        const int layer = at / kv.shape.heads, head = at % kv.shape.heads;
        for (Bf16* pool : {kv.keys, kv.values})
          std::copy_n(block_at(pool, kv, layer, copies.from[i], head),
                      kv.shape.type == CacheType::Plain ? copies.tokens[i] * kv.shape.head_dim
                                                        : block_elements(kv.shape),
                      block_at(pool, kv, layer, copies.to[i], head));
      }
    }
  });
}

}  // namespace counterbeam::cuda
