// Operations on rows: norms, gates, lookups. One thread block per row (or per few heads of it);
// sums are taken in float32 in an order that depends on the width alone.
#include <cstdint>

#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"
#include "backend/cuda/weight_blocks.cuh"

namespace counterbeam::cuda {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ Bf16* row_of(const Matrix& m, int row) {
  return static_cast<Bf16*>(m.data) + std::size_t(row) * m.stride;
}

__device__ __forceinline__ float rounded(float x) {
  return __bfloat162float(__float2bfloat16(x));
}
__device__ __forceinline__ float sigmoid(float x) {
  return 1.0f / (1.0f + __expf(-x));
}

// Eight numbers side by side. `whole`: all eight are there and 16-byte aligned.
struct Eight {
  float at[8];
};
__device__ __forceinline__ Eight load(const Bf16* from, int count, bool whole) {
  Eight eight;
  if (whole) {
    const uint4 bits = *reinterpret_cast<const uint4*>(from);
    const auto* values = reinterpret_cast<const Bf16*>(&bits);
#pragma unroll
    for (int i = 0; i < 8; ++i) eight.at[i] = __bfloat162float(values[i]);
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) eight.at[i] = i < count ? __bfloat162float(from[i]) : 0.0f;
  }
  return eight;
}
__device__ __forceinline__ void store(Bf16* to, const Eight& eight, int count, bool whole) {
  if (whole) {
    alignas(16) Bf16 values[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) values[i] = __float2bfloat16(eight.at[i]);
    *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(values);
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (i < count) to[i] = __float2bfloat16(eight.at[i]);
    }
  }
}
__device__ __forceinline__ bool aligned(const void* a, const void* b) {
  return ((reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b)) & 15) == 0;
}

// The sum over the lanes of a team of `kTeam` threads, known to all of them; `kTeams` to a block.
template <int kTeam, int kTeams>
__device__ float team_sum(float x) {
#pragma unroll
  for (int i = kTeam < 32 ? kTeam / 2 : 16; i > 0; i /= 2) x += __shfl_xor_sync(~0u, x, i);
  if constexpr (kTeam > 32) {
    __shared__ float of_warp[kTeams][kTeam / 32];
    const int team = threadIdx.x / kTeam;
    if (threadIdx.x % 32 == 0) of_warp[team][threadIdx.x % kTeam / 32] = x;
    __syncthreads();
    x = 0;
#pragma unroll
    for (int i = 0; i < kTeam / 32; ++i) x += of_warp[team][i];
  }
  return x;
}

__device__ __forceinline__ Eight weights_from(const float* weight, int count) {
  Eight eight;
#pragma unroll
  for (int i = 0; i < 8; ++i) eight.at[i] = i < count ? weight[i] : 0;
  return eight;
}

enum class Gate { None, Silu };

// Norms of groups of `size` columns, kTeam threads each. A plain weight is applied to the rounded
// number, a zero-centred one before rounding, as transformers does. Weights come from memory while
// the kernels before still run. Two teams share a block so that few multiprocessors are taken and
// the product that follows finds room beside it.
template <int kTeam, int kTeams, Gate kGate>
__global__ void __launch_bounds__(kTeam* kTeams)
    norm_kernel(Matrix out, Matrix x, Matrix gate, const float* weight, int size, float eps,
                float offset) {
  let_successor_start();
  const int groups = x.width / size, item = blockIdx.x * kTeams + threadIdx.x / kTeam;
  const int lane = threadIdx.x % kTeam;
  const bool real = item < x.rows * groups;
  const int row = real ? item / groups : 0, first = real ? item % groups * size : 0;
  const Bf16* from = row_of(x, row) + first;
  Bf16* to = row_of(out, row) + first;
  const bool whole = aligned(from, to) && size % 8 == 0;
  constexpr int kKept = kTeam == 16 ? 4 : 2;  // pieces of eight that stay in registers
  Eight kept[kKept], weights[kKept];
  int piece = 0;
#pragma unroll
  for (; piece < kKept; ++piece) {
    const int at = (piece * kTeam + lane) * 8;
    weights[piece] = weights_from(weight + at, size - at);
  }
  wait_for_predecessor();
  float sum = 0;
#pragma unroll
  for (piece = 0; piece < kKept; ++piece) {
    const int at = (piece * kTeam + lane) * 8;
    if (!real || at >= size) continue;
    kept[piece] = load(from + at, size - at, whole);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += kept[piece].at[i] * kept[piece].at[i];
  }
  for (int at = (kKept * kTeam + lane) * 8; real && at < size; at += kTeam * 8) {
    const Eight more = load(from + at, size - at, whole);
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += more.at[i] * more.at[i];
  }
  const float scale = rsqrtf(team_sum<kTeam, kTeams>(sum) / float(size) + eps);
  if (!real) return;
  const auto finish = [&](Eight eight, const Eight& factor, int at) {
    Eight gates;
    if constexpr (kGate == Gate::Silu) {
      const Bf16* g = row_of(gate, row) + first + at;
      gates = load(g, size - at, whole && aligned(g, g));
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (at + i >= size) break;
      const float normed = eight.at[i] * scale;
      float y = (offset == 0 ? rounded(normed) : normed) * (offset + factor.at[i]);
      if constexpr (kGate == Gate::Silu) y *= gates.at[i] * sigmoid(gates.at[i]);
      eight.at[i] = y;
    }
    store(to + at, eight, size - at, whole);
  };
#pragma unroll
  for (piece = 0; piece < kKept; ++piece) {
    const int at = (piece * kTeam + lane) * 8;
    if (at < size) finish(kept[piece], weights[piece], at);
  }
  for (int at = (kKept * kTeam + lane) * 8; at < size; at += kTeam * 8)
    finish(load(from + at, size - at, whole), weights_from(weight + at, size - at), at);
}

template <Gate kGate>
void run_norm(cudaStream_t stream, Matrix out, Matrix x, Matrix gate, const float* weight, int size,
              float eps, float offset) {
  const int items = x.rows * (x.width / size);
  const auto run = [&](auto kernel, int team, int teams) {
    launch(stream, "norm", kernel, unsigned((items + teams - 1) / teams), unsigned(team * teams), 0,
           out, x, gate, weight, size, eps, offset);
  };
  if (size > 512) return run(norm_kernel<256, 2, kGate>, 256, 2);
  run(norm_kernel<16, 16, kGate>, 16, 16);
}

// out[i] = value(first[i], second[i]), eight columns a thread.
template <typename Value>
__global__ void pairs_kernel(Matrix out, Matrix first, Matrix second, Value value) {
  let_successor_start();
  wait_for_predecessor();
  const int at = (blockIdx.y * kThreads + threadIdx.x) * 8;
  if (at >= out.width) return;
  const Bf16* a = row_of(first, blockIdx.x) + at;
  const Bf16* b = row_of(second, blockIdx.x) + at;
  Bf16* to = row_of(out, blockIdx.x) + at;
  const bool whole = aligned(a, b) && aligned(to, to) && at + 8 <= out.width;
  Eight x = load(a, out.width - at, whole);
  const Eight y = load(b, out.width - at, whole);
#pragma unroll
  for (int i = 0; i < 8; ++i) x.at[i] = value(x.at[i], y.at[i]);
  store(to, x, out.width - at, whole);
}

dim3 eights_of(Matrix m) {
  return dim3(unsigned(m.rows), unsigned((m.width + 8 * kThreads - 1) / (8 * kThreads)));
}

struct SiluTimes {
  __device__ float operator()(float gate, float up) const {
    return rounded(gate * sigmoid(gate)) * up;
  }
};
struct TimesSigmoid {
  __device__ float operator()(float x, float gate) const { return x * rounded(sigmoid(gate)); }
};

__global__ void split_kernel(Matrix first, Matrix second, Matrix x, int head_dim) {
  let_successor_start();
  wait_for_predecessor();
  for (int i = blockIdx.y * kThreads + threadIdx.x; i < first.width; i += gridDim.y * kThreads) {
    const Bf16* from = row_of(x, blockIdx.x) + i / head_dim * 2 * head_dim + i % head_dim;
    row_of(first, blockIdx.x)[i] = from[0];
    row_of(second, blockIdx.x)[i] = from[head_dim];
  }
}

__global__ void embed_kernel(Matrix out, const Bf16* blocks, int in_blocks, const int* ids) {
  let_successor_start();
  wait_for_predecessor();
  const int id = ids[blockIdx.x];
  for (int at = threadIdx.x * 8; at < out.width; at += kThreads * 8) {
    const Eight eight = load(blocks + place_of(id, at, in_blocks), 8, true);
    store(row_of(out, blockIdx.x) + at, eight, out.width - at, out.width % 8 == 0);
  }
}

__global__ void gather_kernel(Matrix out, Matrix x, const int* rows) {
  let_successor_start();
  wait_for_predecessor();
  const Bf16* from = row_of(x, rows[blockIdx.x]);
  for (int i = threadIdx.x; i < out.width; i += kThreads) row_of(out, blockIdx.x)[i] = from[i];
}

}  // namespace

void embed(cudaStream_t stream, Matrix out, const Bf16* table_blocks, const DeviceBatch& batch) {
  launch(stream, "embed", embed_kernel, out.rows, kThreads, 0, out, table_blocks,
         blocks_of(out.width), batch.ids);
}

void rms_norm(cudaStream_t stream, Matrix out, Matrix x, const float* weight, int size, float eps,
              bool zero_centred) {
  run_norm<Gate::None>(stream, out, x, {}, weight, size, eps, zero_centred ? 1.0f : 0.0f);
}

void gated_norm(cudaStream_t stream, Matrix out, Matrix x, Matrix gate, const float* weight,
                int size, float eps) {
  run_norm<Gate::Silu>(stream, out, x, gate, weight, size, eps, 0.0f);
}

void silu_mul(cudaStream_t stream, Matrix out, Matrix gate, Matrix up) {
  launch(stream, "silu_mul", pairs_kernel<SiluTimes>, eights_of(out), kThreads, 0, out, gate, up,
         SiluTimes{});
}

void sigmoid_gate(cudaStream_t stream, Matrix out, Matrix gate) {
  launch(stream, "sigmoid_gate", pairs_kernel<TimesSigmoid>, eights_of(out), kThreads, 0, out, out,
         gate, TimesSigmoid{});
}

void split_heads(cudaStream_t stream, Matrix first, Matrix second, Matrix x, int heads) {
  const int blocks = (first.width + kThreads - 1) / kThreads;
  launch(stream, "split_heads", split_kernel, dim3(unsigned(first.rows), unsigned(blocks)),
         kThreads, 0, first, second, x, first.width / heads);
}

void gather(cudaStream_t stream, Matrix out, Matrix x, const int* rows) {
  launch(stream, "gather", gather_kernel, out.rows, kThreads, 0, out, x, rows);
}

}  // namespace counterbeam::cuda
