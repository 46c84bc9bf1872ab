// RMS norms. Sums are float32, in an order that depends on the width alone, whichever kernel
// computes them.
#include <cstdint>

#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"
#include "backend/cuda/row_octets.cuh"

namespace counterbeam::cuda {
namespace {

constexpr int kThreads = 256;

// The sum over a team of `kTeam` threads, returned to all of them; `kTeams` teams per block.
template <int kTeam, int kTeams>
__device__ float team_sum(float x) {
  x = sum_of_lanes<(kTeam < 32 ? kTeam : 32)>(x);
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

// `whole`: all eight exist and are 16-byte aligned; otherwise `count` exist, the others become 0.
__device__ __forceinline__ Octet load_weights(const float* from, int count, bool whole) {
  Octet octet;
  if (whole) {
    const float4 low = reinterpret_cast<const float4*>(from)[0];
    const float4 high = reinterpret_cast<const float4*>(from)[1];
    octet = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) octet.at[i] = i < count ? from[i] : 0;
  }
  return octet;
}

enum class Gate { None, Silu };

// The norm of `size` columns by kTeam threads; `gate` is read for Gate::Silu only. Weights are
// loaded while preceding kernels still run. Teams without columns (`real` is false) must call it
// too, for its barriers.
template <int kTeam, int kTeams, Gate kGate>
__device__ __forceinline__ void norm_columns(Bf16* to, const Bf16* from, const Bf16* gate,
                                             bool real, const float* weight, int size, float eps,
                                             float offset) {
  const int lane = threadIdx.x % kTeam;
  const bool whole = aligned(from, to) && size % 8 == 0;
  constexpr int kKept = 2;  // pieces of eight that stay in registers
  Octet kept[kKept], weights[kKept];
  const auto factors_at = [&](int at) {
    return load_weights(weight + at, size - at, whole && aligned(weight, weight));
  };
#pragma unroll
  for (int piece = 0; piece < kKept; ++piece) {
    const int at = (piece * kTeam + lane) * 8;
    if (at < size) weights[piece] = factors_at(at);
  }
  wait_for_predecessor();
  float sum = 0;
#pragma unroll
  for (int piece = 0; piece < kKept; ++piece) {
    const int at = (piece * kTeam + lane) * 8;
    if (!real || at >= size) continue;
    kept[piece] = load_octet(from + at, size - at, whole);
    sum = add_squares(sum, kept[piece]);
  }
  for (int at = (kKept * kTeam + lane) * 8; real && at < size; at += kTeam * 8)
    sum = add_squares(sum, load_octet(from + at, size - at, whole));
  const float scale = norm_scale(team_sum<kTeam, kTeams>(sum), size, eps);
  if (!real) return;
  const auto finish = [&](Octet octet, const Octet& factors, int at) {
    normalise(octet, scale, factors, offset);
    if constexpr (kGate == Gate::Silu)
      multiply_by_silu(octet, load_octet(gate + at, size - at, whole && aligned(gate, gate)));
    store_octet(to + at, octet, size - at, whole);
  };
#pragma unroll
  for (int piece = 0; piece < kKept; ++piece) {
    const int at = (piece * kTeam + lane) * 8;
    if (at < size) finish(kept[piece], weights[piece], at);
  }
  for (int at = (kKept * kTeam + lane) * 8; at < size; at += kTeam * 8)
    finish(load_octet(from + at, size - at, whole), factors_at(at), at);
}

// Norms of groups of `size` columns. Several teams share a block, to occupy few multiprocessors,
// but no more than two of 256 threads, so that the next GEMM fits beside them.
template <int kTeam, int kTeams, Gate kGate>
__global__ void __launch_bounds__(kTeam* kTeams)
    norm_kernel(Matrix out, Matrix x, Matrix gate, const float* weight, int size, float eps,
                float offset) {
  let_successor_start();
  const int groups = x.width / size, item = blockIdx.x * kTeams + threadIdx.x / kTeam;
  const bool real = item < x.rows * groups;
  const int row = real ? item / groups : 0, first = real ? item % groups * size : 0;
  const Bf16* gates = kGate == Gate::Silu ? row_of(gate, row) + first : nullptr;
  norm_columns<kTeam, kTeams, kGate>(row_of(out, row) + first, row_of(x, row) + first, gates, real,
                                     weight, size, eps, offset);
}

constexpr int kHeadTeam = 16, kHeadTeams = 16, kHeadColumns = 512;

// Query heads are read from [heads, 2, head_dim] and normalised; the other halves are copied to
// `gate`. Key heads are normalised in place.
struct HeadNorms {
  Matrix q, gate, q_gate, k;
  const float *q_weight, *k_weight;
  int head_dim;
  float eps, offset;
};
// One team per head of q, of k and of the gate.
__global__ void __launch_bounds__(kHeadTeam* kHeadTeams) head_norms_kernel(HeadNorms in) {
  let_successor_start();
  const int d = in.head_dim, q_heads = in.q.width / d, k_heads = in.k.width / d;
  const int teams = 2 * q_heads + k_heads;
  const int item = blockIdx.x * kHeadTeams + threadIdx.x / kHeadTeam;
  const bool real = item < in.q.rows * teams;
  const int row = real ? item / teams : 0, team = real ? item % teams : 0;
  const bool query = team < q_heads, gate = team >= q_heads + k_heads;
  const int head = query ? team : team - q_heads - (gate ? k_heads : 0);
  const Bf16* q_gate = row_of(in.q_gate, row) + 2 * d * head;
  Bf16* k = row_of(in.k, row) + d * head;
  norm_columns<kHeadTeam, kHeadTeams, Gate::None>(
      query ? row_of(in.q, row) + d * head : k, query ? q_gate : k, nullptr, real && !gate,
      query ? in.q_weight : in.k_weight, d, in.eps, in.offset);
  if (!real || !gate) return;
  Bf16* to = row_of(in.gate, row) + d * head;
  const bool whole = aligned(q_gate + d, to) && d % 8 == 0;
  for (int at = threadIdx.x % kHeadTeam * 8; at < d; at += kHeadTeam * 8)
    store_octet(to + at, load_octet(q_gate + d + at, d - at, whole), d - at, whole);
}

constexpr int kRowTeam = 256;  // threads per norm of more than kHeadColumns columns

// Norms of many whole rows, one warp each: a lane does the work of kRowTeam / 32 threads of
// norm_kernel, with sums in the same order. REQUIRES 16-byte aligned rows of at most kOctets * 256
// columns.
template <int kOctets>
__global__ void __launch_bounds__(kThreads, 2)
    norm_rows_kernel(Matrix out, Matrix x, const float* weight, float eps, float offset) {
  constexpr int kWarps = kRowTeam / 32;
  __shared__ float weights[kOctets * 256];
  let_successor_start();
  for (int i = threadIdx.x * 4; i < x.width; i += kThreads * 4)
    *reinterpret_cast<float4*>(weights + i) = *reinterpret_cast<const float4*>(weight + i);
  __syncthreads();
  wait_for_predecessor();
  const int row = (blockIdx.x * kThreads + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= x.rows) return;
  const Bf16* from = row_of(x, row);
  Bf16* to = row_of(out, row);
  const auto place = [&](int i) { return (32 * i + lane) * 8; };
  uint4 kept[kOctets];
#pragma unroll
  for (int i = 0; i < kOctets; ++i) {
    kept[i] = place(i) < x.width ? *reinterpret_cast<const uint4*>(from + place(i)) : uint4{};
  }
  const auto octet = [&](int i) {
    return load_octet(reinterpret_cast<const Bf16*>(&kept[i]), 8, true);
  };
  float squares = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    float of_warp = 0;
#pragma unroll
    for (int i = w; i < kOctets; i += kWarps) of_warp = add_squares(of_warp, octet(i));
    squares += sum_of_lanes<32>(of_warp);
  }
  const float scale = norm_scale(squares, x.width, eps);
#pragma unroll
  for (int i = 0; i < kOctets; ++i) {
    if (place(i) >= x.width) continue;
    Octet normed = octet(i);
    normalise(normed, scale, load_weights(weights + place(i), 8, true), offset);
    store_octet(to + place(i), normed, 8, true);
  }
}

constexpr int kManyRows = 128;  // from here on, one warp per row fills the device

bool in_octets(Matrix m) {
  return m.width % 8 == 0 && m.stride % 8 == 0 &&
         reinterpret_cast<std::uintptr_t>(m.data) % 16 == 0;
}

template <Gate kGate>
void run_norm(cudaStream_t stream, Matrix out, Matrix x, Matrix gate, const float* weight, int size,
              float eps, float offset) {
  const int items = x.rows * (x.width / size);
  const auto run = [&](auto kernel, int team, int teams) {
    launch(stream, "norm", kernel, unsigned((items + teams - 1) / teams), unsigned(team * teams), 0,
           out, x, gate, weight, size, eps, offset);
  };
  if (size > kHeadColumns) return run(norm_kernel<kRowTeam, 2, kGate>, kRowTeam, 2);
  run(norm_kernel<kHeadTeam, kHeadTeams, kGate>, kHeadTeam, kHeadTeams);
}

bool run_norm_of_rows(cudaStream_t stream, Matrix out, Matrix x, const float* weight, float eps,
                      float offset) {
  if (x.rows < kManyRows || x.width <= kHeadColumns || x.width > 16 * kRowTeam || !in_octets(x) ||
      !in_octets(out) || reinterpret_cast<std::uintptr_t>(weight) % 16 != 0)
    return false;
  const auto kernel = x.width <= 8 * kRowTeam ? norm_rows_kernel<8> : norm_rows_kernel<16>;
  constexpr int kRows = kThreads / 32;
  launch(stream, "norm", kernel, unsigned((x.rows + kRows - 1) / kRows), kThreads, 0, out, x,
         weight, eps, offset);
  return true;
}

}  // namespace

void rms_norm(cudaStream_t stream, Matrix out, Matrix x, const float* weight, int size, float eps,
              bool zero_centred) {
  const float offset = zero_centred ? 1.0f : 0.0f;
  if (size == x.width && run_norm_of_rows(stream, out, x, weight, eps, offset)) return;
  run_norm<Gate::None>(stream, out, x, {}, weight, size, eps, offset);
}

void gated_norm(cudaStream_t stream, Matrix out, Matrix x, Matrix gate, const float* weight,
                int size, float eps) {
  run_norm<Gate::Silu>(stream, out, x, gate, weight, size, eps, 0.0f);
}

void split_and_norm(cudaStream_t stream, Matrix q, Matrix gate, Matrix q_gate, Matrix k,
                    const float* q_weight, const float* k_weight, int head_dim, float eps,
                    bool zero_centred) {
  if (head_dim > kHeadColumns) {
    split_heads(stream, q, gate, q_gate, q.width / head_dim);
    rms_norm(stream, q, q, q_weight, head_dim, eps, zero_centred);
    return rms_norm(stream, k, k, k_weight, head_dim, eps, zero_centred);
  }
  const int items = q.rows * (2 * q.width + k.width) / head_dim;
  launch(
      stream, "norms of heads", head_norms_kernel, unsigned((items + kHeadTeams - 1) / kHeadTeams),
      kHeadTeam * kHeadTeams, 0,
      HeadNorms{q, gate, q_gate, k, q_weight, k_weight, head_dim, eps, zero_centred ? 1.0f : 0.0f});
}

}  // namespace counterbeam::cuda
