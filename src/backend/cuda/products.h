// The GEMM of activations and packed weights, y = W x, for one row or thousands.
//
// Weights are packed in blocks of 64 outputs by 64 inputs, [out / 64][in / 64][64][64]. A block is
// the shared-memory image that wgmma reads (wgmma.cuh): one bulk copy of 8 KiB, and the weights are
// one stream through memory.
//
// Row invariance: the sum over the inputs is split at points that depend on the weight's shape
// alone; every part is one chain of additions, and parts are added in ascending order.
#pragma once

#include "backend/cuda/code_weights.h"
#include "backend/cuda/kernels.h"

namespace counterbeam::cuda {

// Plain, or quantised if codes.records is not null.
struct Weights {
  Bf16* blocks = nullptr;
  int out = 0;
  int in = 0;
  CodeWeights codes{};
};

constexpr int kBlock = 64;
constexpr std::size_t kBlockElements = std::size_t(kBlock) * kBlock;

inline int blocks_of(int n) {
  return (n + kBlock - 1) / kBlock;
}
inline std::size_t packed_elements(int out, int in) {
  return std::size_t(blocks_of(out)) * std::size_t(blocks_of(in)) * kBlockElements;
}

enum class Number { F32, BF16, F16 };
// Packs a plain matrix [outs, in] on the device as rows [first_out, first_out + outs).
void pack_rows(cudaStream_t stream, const Weights& weights, int first_out, int outs,
               const void* rows, Number number);
// Random numbers in (-scale, scale).
void pack_random(cudaStream_t stream, const Weights& weights, float scale, unsigned seed);

enum class Finish {
  Store,      // out = y + bias, bf16
  Add,        // out += y + bias, each rounded to bf16
  SiluMul,    // out[i] = silu(y[i]) * y[out / 2 + i]; REQUIRES out / 2 to be a multiple of 64
  GeluMul,    // the same with gelu (tanh) for silu
  StoreFloat  // out = y, float32
};

constexpr bool is_gated(Finish finish) {
  return finish == Finish::SiluMul || finish == Finish::GeluMul;
}
template <Finish kFinish>
inline constexpr bool kIsGated = is_gated(kFinish);  // for device code

struct ProductTarget {
  Finish finish = Finish::Store;
  void* data = nullptr;
  int stride = 0;
  const float* bias = nullptr;
};

// Scratch that all products of a device share.
struct ProductDevice {
  float* partial_sums = nullptr;  // product_workspace() bytes
  unsigned* flags = nullptr;      // zero between launches, product_flags() of them
  // Room for a quantised matrix as plain blocks, which products of many rows decode first. Matrices
  // that do not fit are multiplied by their codes.
  Bf16* decoded = nullptr;
  std::size_t decoded_elements = 0;
};
std::size_t product_workspace(int processors);
int product_flags(int processors);
// REQUIRED once per device, before the first product.
void prepare_products();

// x: [rows, in] with 16-byte aligned rows.
void product(cudaStream_t stream, const ProductDevice& device, const ProductTarget& target,
             Matrix x, const Weights& weights);

}  // namespace counterbeam::cuda
