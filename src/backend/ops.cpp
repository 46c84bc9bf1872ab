// Default implementations for back ends: fused operations as sequences of plain ones, and sizes
// that suit a CPU.
#include "backend/ops.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>

#include "base/available_memory.h"
#include "base/parallel_for.h"

namespace counterbeam {
namespace {

// Reads one word of every cache line, with a software prefetch 4 KB ahead: without it the loop is
// slower than the GEMM kernels, and so no bound for them.
std::uint64_t touch_lines(const std::uint64_t* at, const std::uint64_t* end) {
  constexpr std::ptrdiff_t kLine = 8, kAhead = 512;
  std::uint64_t sum = 0;
  for (; at < end; at += kLine) {
    __builtin_prefetch(at + kAhead, 0, 2);
    sum += *at;
  }
  return sum;
}

}  // namespace

// All threads read a buffer far larger than the caches; the best of five passes.
double Ops::memory_bandwidth() {
  constexpr std::size_t kWords = std::size_t{1} << 26;  // 512 MiB
  const std::size_t threads = static_cast<std::size_t>(std::max(1, costs().threads));
  std::vector<std::uint64_t> buffer(kWords, 1), sums(threads);
  double best = 0;
  for (int pass = 0; pass < 5; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    parallel_for(threads, static_cast<int>(threads), [&](std::size_t t) {
      sums[t] += touch_lines(buffer.data() + kWords * t / threads,
                             buffer.data() + kWords * (t + 1) / threads);
    });
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::max(best, kWords * sizeof(std::uint64_t) / taken.count());
  }
  // The sums are used, so that the reads are not optimised away.
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}) > 0 ? best : 0;
}

std::int64_t StoreOps::page_bytes(const KvShape& shape) const {
  return std::int64_t{2} * shape.layers * shape.heads * shape.head_dim * kPageTokens * 4;
}

std::int64_t StoreOps::state_bytes(const StateShape& shape) const {
  const std::int64_t memory = std::int64_t{shape.value_heads} * shape.key_dim * shape.value_dim;
  const std::int64_t kept_inputs = std::int64_t{shape.conv_width - 1} * shape.conv_channels();
  return shape.layers * (memory + kept_inputs) * 4;
}

std::int64_t StoreOps::cache_bytes(std::int64_t wanted) const {
  return std::min(wanted, available_memory() / 4);
}

std::vector<float> WeightOps::random_block(float scale, std::uint64_t seed) {
  std::vector<float> values(kRandomBlock);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const DrawKey key{
        .seed = seed, .position = static_cast<std::uint32_t>(i), .use = DrawUse::WeightMatrices};
    values[i] = scale * static_cast<float>(2 * uniform(key) - 1);
  }
  return values;
}

std::unique_ptr<PackedMatrix> WeightOps::pack_random(int out, int in, float scale,
                                                     std::uint64_t seed) {
  std::vector<float> values = random_block(scale, seed);
  values.resize(std::size_t(out) * std::size_t(in));
  for (std::size_t i = kRandomBlock; i < values.size(); ++i) values[i] = values[i - kRandomBlock];
  const Tensor tensor = Tensor::from_f32(values, DType::BF16, {out, in});
  const StoredMatrix parts[] = {tensor.view()};
  return pack(parts);
}

void PassOps::gated_matmul(Matrix out, Matrix x, const PackedMatrix& weight, const Vector* bias,
                           Activation activation, Matrix scratch) {
  matmul(scratch, x, weight, bias);
  const int bytes = costs().activation_bytes;
  const Matrix gate = scratch.columns(0, out.width, bytes);
  const Matrix up = scratch.columns(out.width, out.width, bytes);
  activation == Activation::Silu ? silu_mul(out, gate, up) : gelu_mul(out, gate, up);
}

void PassOps::split_and_norm(Matrix q, Matrix gate, Matrix q_gate, const Vector& q_weight, Matrix k,
                             const Vector& k_weight, float eps, NormKind kind) {
  split_heads(q, gate, q_gate, q.width / q_weight.size);
  rms_norm(q, q, q_weight, eps, kind);
  rms_norm(k, k, k_weight, eps, kind);
}

void PassOps::gated_delta_net(Matrix out, const DeltaNetInputs& in, StateStore& store, int layer,
                              Matrix gate, const Vector& weight, float eps) {
  delta_net(out, in, store, layer);
  gated_norm(out, out, gate, weight, eps);
}

void PassOps::rope_and_store(Matrix q, int heads, Matrix k, Matrix v, const Rope& of,
                             KvStore& store, int layer, const KvShape& shape) {
  rope(q, heads, of);
  rope(k, shape.heads, of);
  store_kv(store, layer, k, v);
}

}  // namespace counterbeam
