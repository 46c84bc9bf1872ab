// The pipeline that brings the tokens of a segment to their thread block. A stage is one token per
// warp; a warp copies its token into shared memory two stages ahead and prepares it one ahead.
#pragma once

#include "backend/cuda/delta_net.cuh"
#include "backend/cuda/row_octets.cuh"

namespace counterbeam::cuda {

constexpr int kKeyDim = 128, kValueDim = 128;
constexpr int kDeltaWarps = 8;

// A token as loaded: its head's query and key, the block's values, its head's gate.
template <int kColumns>
struct DeltaToken {
  Pack<Bf16, 4> q[32], k[32], z[32];
  Bf16 v[32 * kColumns];
};

// The prepared tokens of a stage: keys and queries of unit length, gates {decay, beta, k q}.
struct DeltaStage {
  float4 k[kDeltaWarps][32];
  float4 q[kDeltaWarps][32];
  float4 gates[kDeltaWarps];
};

template <int kColumns>
struct DeltaShared {
  DeltaStage stages[2];
  DeltaToken<kColumns> tokens[3][kDeltaWarps];
  // Outputs of whole heads before the norm; lanes without an output write to the second half.
  Bf16 out[2][kDeltaWarps][2 * kValueDim];
  float weight[kValueDim];
};

template <int kBytes>
__device__ __forceinline__ void copy_later(void* to, const void* from) {
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(unsigned(__cvta_generic_to_shared(to))),
      "l"(from), "n"(kBytes)
      : "memory");
}
// Waits until the warp's copies are visible to all its lanes.
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncwarp();
}

// The raw bits, one register each, so that the loads are not waited for before they are needed.
struct DeltaGateBits {
  unsigned beta, decay;
};
__device__ __forceinline__ float from_bits(unsigned bits) {
  return __uint_as_float(bits << 16);
}

// `q` points to the head's query of the row, `v` to the block's values, `z` to the head's gate.
template <int kColumns, bool kNormed>
__device__ __forceinline__ void fetch_token(DeltaToken<kColumns>& token, const Bf16* q,
                                            const Bf16* v, const Bf16* z, int key_heads, int lane) {
  copy_later<8>(token.q + lane, q + 4 * lane);
  copy_later<8>(token.k + lane, q + key_heads * kKeyDim + 4 * lane);
  if constexpr (kColumns == 4) {
    copy_later<8>(token.v + 4 * lane, v + 4 * lane);
  } else {
    if (lane < 16 * kColumns) copy_later<4>(token.v + 2 * lane, v + 2 * lane);
  }
  if constexpr (kNormed) copy_later<8>(token.z + lane, z + 4 * lane);
}

template <int kColumns>
__device__ __forceinline__ void put_token(DeltaStage& stage, int at,
                                          const DeltaToken<kColumns>& token, DeltaGateBits bits,
                                          float dt_bias, float rate, int lane) {
  const Pack<Bf16, 4> q4 = token.q[lane], k4 = token.k[lane];
  float q[4], k[4], qq = 0, kk = 0, qk = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    q[i] = __bfloat162float(q4.at[i]);
    k[i] = __bfloat162float(k4.at[i]);
    qq = fmaf(q[i], q[i], qq);
    kk = fmaf(k[i], k[i], kk);
    qk = fmaf(q[i], k[i], qk);
  }
  qq = sum_of_lanes<32>(qq);
  kk = sum_of_lanes<32>(kk);
  qk = sum_of_lanes<32>(qk);
  const float q_scale = rsqrtf(qq + 1e-6f) * rsqrtf(float(kKeyDim));
  const float k_scale = rsqrtf(kk + 1e-6f);
  stage.q[at][lane] = make_float4(q[0] * q_scale, q[1] * q_scale, q[2] * q_scale, q[3] * q_scale);
  stage.k[at][lane] = make_float4(k[0] * k_scale, k[1] * k_scale, k[2] * k_scale, k[3] * k_scale);
  const float decay = delta_decay(from_bits(bits.decay), dt_bias, rate);
  const float beta = delta_beta(from_bits(bits.beta));
  if (lane == 0) stage.gates[at] = make_float4(decay, beta, qk * q_scale * k_scale, 0);
}

}  // namespace counterbeam::cuda
