#include <cuda_fp16.h>

#include "backend/cuda/launch.h"
#include "backend/cuda/products.h"
#include "backend/cuda/weight_blocks.cuh"

namespace counterbeam::cuda {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ float number(float x) {
  return x;
}
__device__ __forceinline__ float number(__half x) {
  return __half2float(x);
}
__device__ __forceinline__ float number(Bf16 x) {
  return __bfloat162float(x);
}

// One thread block per block of weights. Outputs of other parts are left unchanged; inputs beyond
// the last become zero.
template <typename Source>
__global__ void pack_kernel(Bf16* blocks, int in, int first_out, int outs, const Source* rows) {
  const int in_blocks = gridDim.x, out_block = first_out / kBlock + blockIdx.y;
  Bf16* block = blocks + (std::size_t(out_block) * in_blocks + blockIdx.x) * kBlockElements;
  for (int i = threadIdx.x; i < kBlock * kBlock; i += kThreads) {
    const int out = out_block * kBlock + i / kBlock - first_out;
    const int at = blockIdx.x * kBlock + i % kBlock;
    if (out < 0 || out >= outs) continue;
    block[place_in_block(i / kBlock, i % kBlock)] =
        __float2bfloat16(at < in ? number(rows[std::size_t(out) * in + at]) : 0.0f);
  }
}

__device__ __forceinline__ unsigned mixed(unsigned x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ (x >> 16);
}

__global__ void random_kernel(Bf16* blocks, std::size_t count, int in, int in_blocks, float scale,
                              unsigned seed) {
  const std::size_t stride = std::size_t(gridDim.x) * kThreads;
  for (std::size_t i = blockIdx.x * kThreads + threadIdx.x; i < count; i += stride) {
    const int place = i % kBlockElements, row = place / kBlock;
    const int column = ((place % kBlock / 8) ^ (row % 8)) * 8 + place % 8;
    const int at = int(i / kBlockElements % in_blocks) * kBlock + column;
    const unsigned bits = mixed(unsigned(i) ^ mixed(unsigned(i >> 32) + seed));
    const float u = float(bits >> 8) * 0x1p-23f - 1.0f;
    blocks[i] = __float2bfloat16(at < in ? scale * u : 0.0f);
  }
}

template <typename Source>
void pack_from(cudaStream_t stream, const Weights& weights, int first_out, int outs,
               const void* rows) {
  const int first = first_out / kBlock, last = (first_out + outs - 1) / kBlock;
  const dim3 grid(unsigned(blocks_of(weights.in)), unsigned(last - first + 1));
  pack_kernel<<<grid, kThreads, 0, stream>>>(weights.blocks, weights.in, first_out, outs,
                                             static_cast<const Source*>(rows));
  check(cudaGetLastError(), "packing weights");
}

}  // namespace

void pack_rows(cudaStream_t stream, const Weights& weights, int first_out, int outs,
               const void* rows, Number number) {
  switch (number) {
    case Number::F32:
      return pack_from<float>(stream, weights, first_out, outs, rows);
    case Number::BF16:
      return pack_from<Bf16>(stream, weights, first_out, outs, rows);
    case Number::F16:
      return pack_from<__half>(stream, weights, first_out, outs, rows);
  }
}

void pack_random(cudaStream_t stream, const Weights& weights, float scale, unsigned seed) {
  random_kernel<<<132 * 8, kThreads, 0, stream>>>(weights.blocks,
                                                  packed_elements(weights.out, weights.in),
                                                  weights.in, blocks_of(weights.in), scale, seed);
  check(cudaGetLastError(), "making random weights");
}

}  // namespace counterbeam::cuda
