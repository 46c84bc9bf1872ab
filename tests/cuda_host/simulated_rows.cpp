// Operations on rows, and GEMMs (simulated_device.h).
#include <cmath>
#include <cstdint>
#include <vector>

#include "backend/cuda/products.h"
#include "cuda_host/simulated_codes.h"

namespace counterbeam::cuda {
namespace {

using testing::enqueue;
using testing::number;
using testing::rounded;
using testing::row_of;
using testing::sigmoid;
using testing::stored;

// The index of a weight. The order within a block is private to this file.
std::size_t place_of(int out, int in, int inputs) {
  const int block = out / kBlock * blocks_of(inputs) + in / kBlock;
  return std::size_t(block) * kBlockElements + std::size_t(out % kBlock * kBlock + in % kBlock);
}

float weight_at(const Weights& weights, int out, int in) {
  if (weights.codes.records != nullptr) return code_value(weights, out, in);
  return number(weights.blocks[place_of(out, in, weights.in)]);
}

float silu(float x) {
  return x * sigmoid(x);
}

float gelu(float x) {
  return x * sigmoid(x * (1.59576912f + 0.0713548163f * x * x));
}

template <typename F>
void for_each_number(cudaStream_t stream, Matrix out, const F& f) {
  enqueue(stream, [=] {
    for (int r = 0; r < out.rows; ++r) {
      for (int c = 0; c < out.width; ++c) row_of(out, r)[c] = f(r, c);
    }
  });
}

// Normalised numbers of columns [first, first + size), times the weight.
std::vector<float> normed(Matrix x, int row, int first, const float* weight, int size, float eps,
                          bool zero_centred) {
  const Bf16* from = row_of(x, row) + first;
  float squares = 0;
  for (int i = 0; i < size; ++i) squares += number(from[i]) * number(from[i]);
  const float scale = 1 / std::sqrt(squares / static_cast<float>(size) + eps);
  std::vector<float> result;
  for (int i = 0; i < size; ++i) {
    const float y = number(from[i]) * scale;
    result.push_back(zero_centred ? y * (1 + weight[i]) : rounded(y) * weight[i]);
  }
  return result;
}

}  // namespace

void embed(cudaStream_t stream, Matrix out, const Bf16* table, float scale,
           const DeviceBatch& batch) {
  for_each_number(stream, out, [=](int r, int c) {
    return stored(number(table[place_of(batch.ids[r], c, out.width)]) * scale);
  });
}

void rms_norm(cudaStream_t stream, Matrix out, Matrix x, const float* weight, int size, float eps,
              bool zero_centred) {
  enqueue(stream, [=] {
    for (int r = 0; r < x.rows; ++r) {
      for (int first = 0; first < x.width; first += size) {
        const auto y = normed(x, r, first, weight, size, eps, zero_centred);
        for (int i = 0; i < size; ++i) row_of(out, r)[first + i] = stored(y[std::size_t(i)]);
      }
    }
  });
}

void gated_norm(cudaStream_t stream, Matrix out, Matrix x, Matrix gate, const float* weight,
                int size, float eps) {
  enqueue(stream, [=] {
    for (int r = 0; r < x.rows; ++r) {
      for (int first = 0; first < x.width; first += size) {
        const auto y = normed(x, r, first, weight, size, eps, false);
        for (int i = 0; i < size; ++i)
          row_of(out, r)[first + i] =
              stored(y[std::size_t(i)] * silu(number(row_of(gate, r)[first + i])));
      }
    }
  });
}

void silu_mul(cudaStream_t stream, Matrix out, Matrix gate, Matrix up) {
  for_each_number(stream, out, [=](int r, int c) {
    return stored(rounded(silu(number(row_of(gate, r)[c]))) * number(row_of(up, r)[c]));
  });
}

void gelu_mul(cudaStream_t stream, Matrix out, Matrix gate, Matrix up) {
  for_each_number(stream, out, [=](int r, int c) {
    return stored(rounded(gelu(number(row_of(gate, r)[c]))) * number(row_of(up, r)[c]));
  });
}

void add(cudaStream_t stream, Matrix sum, Matrix x) {
  for_each_number(stream, sum, [=](int r, int c) {
    return stored(number(row_of(sum, r)[c]) + number(row_of(x, r)[c]));
  });
}

void sigmoid_gate(cudaStream_t stream, Matrix out, Matrix gate) {
  for_each_number(stream, out, [=](int r, int c) {
    return stored(number(row_of(out, r)[c]) * rounded(sigmoid(number(row_of(gate, r)[c]))));
  });
}

void split_heads(cudaStream_t stream, Matrix first, Matrix second, Matrix x, int heads) {
  const int d = first.width / heads;
  for_each_number(stream, first, [=](int r, int c) { return row_of(x, r)[c + c / d * d]; });
  for_each_number(stream, second, [=](int r, int c) { return row_of(x, r)[c + c / d * d + d]; });
}

void split_and_norm(cudaStream_t stream, Matrix q, Matrix gate, Matrix q_gate, Matrix k,
                    const float* q_weight, const float* k_weight, int head_dim, float eps,
                    bool zero_centred) {
  split_heads(stream, q, gate, q_gate, q.width / head_dim);
  rms_norm(stream, q, q, q_weight, head_dim, eps, zero_centred);
  rms_norm(stream, k, k, k_weight, head_dim, eps, zero_centred);
}

void gather(cudaStream_t stream, Matrix out, Matrix x, const int* rows) {
  for_each_number(stream, out, [=](int r, int c) { return row_of(x, rows[r])[c]; });
}

void pack_rows(cudaStream_t stream, const Weights& weights, int first_out, int outs,
               const void* rows, Number kind) {
  enqueue(stream, [=] {
    for (int o = 0; o < outs; ++o) {
      for (int i = 0; i < weights.in; ++i) {
        const std::size_t at = std::size_t(o) * std::size_t(weights.in) + std::size_t(i);
        weights.blocks[place_of(first_out + o, i, weights.in)] =
            kind == Number::F32 ? stored(static_cast<const float*>(rows)[at])
                                : static_cast<const Bf16*>(rows)[at];
      }
    }
  });
}

void pack_random(cudaStream_t stream, const Weights& weights, float scale, unsigned seed) {
  enqueue(stream, [=] {
    std::uint32_t bits = seed;
    for (int o = 0; o < weights.out; ++o) {
      for (int i = 0; i < weights.in; ++i) {
        bits = bits * 1664525u + 1013904223u;
        const float u = static_cast<float>(bits >> 8) * 0x1p-23f - 1;
        weights.blocks[place_of(o, i, weights.in)] = stored(scale * u);
      }
    }
  });
}

std::size_t product_workspace(int) {
  return 64;
}
int product_flags(int processors) {
  return processors;
}
void prepare_products() {}

void product(cudaStream_t stream, const ProductDevice&, const ProductTarget& target, Matrix x,
             const Weights& weights) {
  const auto output = [=](int r, int o) {
    float sum = 0;
    for (int i = 0; i < weights.in; ++i) sum += number(row_of(x, r)[i]) * weight_at(weights, o, i);
    return target.bias == nullptr ? sum : sum + target.bias[o];
  };
  if (target.finish == Finish::StoreFloat) {
    return enqueue(stream, [=] {
      for (int r = 0; r < x.rows; ++r) {
        for (int o = 0; o < weights.out; ++o)
          static_cast<float*>(target.data)[std::ptrdiff_t{r} * target.stride + o] = output(r, o);
      }
    });
  }
  const bool gates = is_gated(target.finish), adds = target.finish == Finish::Add;
  const auto activate = target.finish == Finish::GeluMul ? gelu : silu;
  const int width = gates ? weights.out / 2 : weights.out;
  const Matrix out{target.data, x.rows, width, target.stride};
  for_each_number(stream, out, [=](int r, int o) {
    const float y = rounded(output(r, o));
    if (gates) return stored(rounded(activate(y)) * rounded(output(r, width + o)));
    return stored(adds ? number(row_of(out, r)[o]) + y : y);
  });
}

}  // namespace counterbeam::cuda
