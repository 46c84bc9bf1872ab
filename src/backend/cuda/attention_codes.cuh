// Tiles of keys and values from a cache of 8 bits. Codes become bf16, code times scale rounded
// once, on their way from device memory to shared memory; everything after that is as for bf16
// pages.
#pragma once

#include "backend/cuda/attention_tile.cuh"

namespace counterbeam::cuda {

// One number of a block.
__device__ __forceinline__ Bf16 decoded(const Bf16* block, CacheType type, int token, int column,
                                        int head_dim) {
  const KvCodeBlock of(block);
  return __float2bfloat16_rn(
      __fmul_rn(code_value(type, of.codes[token * head_dim + column]), of.scales[token]));
}

// Four codes as two pairs of bf16.
template <bool kFp8>
__device__ __forceinline__ uint2 decode_four(std::uint32_t codes, float scale) {
  float x[4];
  if (kFp8) {
    const float2 low = fp8_values(codes & 0xffff), high = fp8_values(codes >> 16);
    x[0] = low.x, x[1] = low.y, x[2] = high.x, x[3] = high.y;
  } else {
    // A byte in the lowest bits of 2^23, with its sign bit flipped, is 2^23 + 128 + code.
    const std::uint32_t shifted = codes ^ 0x80808080u;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      x[i] = __fadd_rn(__uint_as_float(__byte_perm(shifted, 0x4b000000u, 0x7650u + unsigned(i))),
                       -8388736.0f);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = __fmul_rn(x[i], scale);
  return {pack(x[0], x[1]), pack(x[2], x[3])};
}

// The keys, or the values, of one tile, spread over the threads of a block: load() starts reading
// them, store() turns them into a tile in shared memory. Tokens that are not stored become 0.
template <int D, int kThreads>
class KvCodeTile {
 public:
  __device__ __forceinline__ void load(const Bf16* pool, const LayerPages& kv, int kv_head,
                                       const int (&pages)[kTilePages], int stored) {
    static_assert(kTilePages == 2);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int token = at(i) / kPieces;
      codes_[i] = {0, 0, 0, 0};
      scales_[i] = 0;
      if (token >= stored) continue;
      const KvCodeBlock of(pool + kv.at(token < kPageTokens ? pages[0] : pages[1], kv_head));
      const int place = at(i) % (kPageTokens * kPieces);
      codes_[i] = reinterpret_cast<const uint4*>(of.codes)[place];
      scales_[i] = of.scales[token % kPageTokens];
    }
  }
  __device__ __forceinline__ void store(char* to, CacheType type) const {
    type == CacheType::Fp8 ? store<true>(to) : store<false>(to);
  }

 private:
  static constexpr int kPieces = D / 16;  // of 16 codes, of a token
  static constexpr int kEach = kTileKeys * kPieces / kThreads;
  static_assert(kEach * kThreads == kTileKeys * kPieces);
  __device__ static int at(int i) {
    return i * kThreads + int(threadIdx.x);
  }

  template <bool kFp8>
  __device__ __forceinline__ void store(char* to) const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int token = at(i) / kPieces, piece = at(i) % kPieces * 2;
      const uint4 codes = codes_[i];
      const uint2 a = decode_four<kFp8>(codes.x, scales_[i]),
                  b = decode_four<kFp8>(codes.y, scales_[i]),
                  c = decode_four<kFp8>(codes.z, scales_[i]),
                  d = decode_four<kFp8>(codes.w, scales_[i]);
      *reinterpret_cast<uint4*>(to + tile_offset<D>(token, piece)) = {a.x, a.y, b.x, b.y};
      *reinterpret_cast<uint4*>(to + tile_offset<D>(token, piece + 1)) = {c.x, c.y, d.x, d.y};
    }
  }

  uint4 codes_[kEach];
  float scales_[kEach];
};

}  // namespace counterbeam::cuda
