// Elementwise operations on rows: gates, embedding lookups, splitting.
#include <cstdint>

#include "backend/cuda/gelu.cuh"
#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"
#include "backend/cuda/row_octets.cuh"
#include "backend/cuda/weight_blocks.cuh"

namespace counterbeam::cuda {
namespace {

constexpr int kThreads = 256;

// out[i] = value(first[i], second[i]), eight columns per thread.
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
  Octet x = load_octet(a, out.width - at, whole);
  const Octet y = load_octet(b, out.width - at, whole);
#pragma unroll
  for (int i = 0; i < 8; ++i) x.at[i] = value(x.at[i], y.at[i]);
  store_octet(to, x, out.width - at, whole);
}

dim3 eights_of(Matrix m) {
  return dim3(unsigned(m.rows), unsigned((m.width + 8 * kThreads - 1) / (8 * kThreads)));
}

struct SiluTimes {
  __device__ float operator()(float gate, float up) const {
    return rounded(gate * sigmoid(gate)) * up;
  }
};
struct GeluTimes {
  __device__ float operator()(float gate, float up) const { return rounded(gelu_tanh(gate)) * up; }
};
struct Plus {
  __device__ float operator()(float a, float b) const { return a + b; }
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

__global__ void embed_kernel(Matrix out, const Bf16* blocks, int in_blocks, float scale,
                             const int* ids) {
  let_successor_start();
  wait_for_predecessor();
  const int id = ids[blockIdx.x];
  for (int at = threadIdx.x * 8; at < out.width; at += kThreads * 8) {
    Octet octet = load_octet(blocks + place_of(id, at, in_blocks), 8, true);
#pragma unroll
    for (int i = 0; i < 8; ++i) octet.at[i] *= scale;
    store_octet(row_of(out, blockIdx.x) + at, octet, out.width - at, out.width % 8 == 0);
  }
}

__global__ void gather_kernel(Matrix out, Matrix x, const int* rows) {
  let_successor_start();
  wait_for_predecessor();
  const Bf16* from = row_of(x, rows[blockIdx.x]);
  for (int i = threadIdx.x; i < out.width; i += kThreads) row_of(out, blockIdx.x)[i] = from[i];
}

}  // namespace

void embed(cudaStream_t stream, Matrix out, const Bf16* table_blocks, float scale,
           const DeviceBatch& batch) {
  launch(stream, "embed", embed_kernel, out.rows, kThreads, 0, out, table_blocks,
         blocks_of(out.width), scale, batch.ids);
}

void silu_mul(cudaStream_t stream, Matrix out, Matrix gate, Matrix up) {
  launch(stream, "silu_mul", pairs_kernel<SiluTimes>, eights_of(out), kThreads, 0, out, gate, up,
         SiluTimes{});
}

void gelu_mul(cudaStream_t stream, Matrix out, Matrix gate, Matrix up) {
  launch(stream, "gelu_mul", pairs_kernel<GeluTimes>, eights_of(out), kThreads, 0, out, gate, up,
         GeluTimes{});
}

void add(cudaStream_t stream, Matrix sum, Matrix x) {
  launch(stream, "add", pairs_kernel<Plus>, eights_of(sum), kThreads, 0, sum, sum, x, Plus{});
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
