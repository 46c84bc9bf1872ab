// Quantised weights on the GPU, multiplied from their codes. An element is code * scale + offset,
// computed in float32 and rounded once to bf16, in every kernel, so that the products are those of
// the decoded matrix bit for bit.
//
// Weights are packed in records of 64 outputs by 128 inputs, [out / 64][in / 128], which are read
// by one bulk copy each. A record is: [slots][64] entries with the scales of its groups, then two
// blocks of 64 x 64 codes. The codes of a block lie in the order in which the threads of a
// warpgroup need them as the first operand of wgmma (code_fragments.cuh).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace counterbeam::cuda {

// The kind of code, and how it is decoded. Bf16: every scale is a bf16 number and there are no
// offsets, so that one operation on pairs of bf16 is the rounded product. Half: the same for
// float16 scales and whole zero points. Float: anything else, through float32.
enum class CodeRoute : std::uint8_t {
  Fp8Bf16,
  Fp8Float,
  Int8Bf16,
  Int8Float,
  Int4Bf16,
  Int4Half,
  Int4Float,
};

constexpr int kRecordBlocks = 2;  // blocks of 64 inputs in a record
constexpr int kRecordInputs = 64 * kRecordBlocks;

__host__ __device__ constexpr bool is_int4(CodeRoute route) {
  return route >= CodeRoute::Int4Bf16;
}
__host__ __device__ constexpr bool is_float(CodeRoute route) {
  return route == CodeRoute::Fp8Float || route == CodeRoute::Int8Float ||
         route == CodeRoute::Int4Float;
}
__host__ __device__ constexpr int block_bytes(CodeRoute route) {
  return is_int4(route) ? 2048 : 4096;
}

struct CodeWeights {
  std::uint8_t* records = nullptr;  // null: the weights are plain numbers
  CodeRoute route = CodeRoute::Fp8Float;
  bool offsets = false;  // Float only
  bool centred = false;  // four bits: the code c is c - 8 and not c
  int slots = 1;         // scales of a row in a record: 1, 2, 4 or 8, for equal parts of its inputs
  int group = 0;         // inputs that share a scale, a multiple of 16; with one group, all
  int groups = 1;        // of a row

  // Bytes of the scale and offset of one row and slot.
  __host__ __device__ constexpr int entry_bytes() const {
    if (is_float(route)) return offsets ? 8 : 4;
    return route == CodeRoute::Int4Half ? 4 : 2;
  }
  __host__ __device__ constexpr int scale_bytes() const { return slots * 64 * entry_bytes(); }
  __host__ __device__ constexpr int record_bytes() const {
    return scale_bytes() + kRecordBlocks * block_bytes(route);
  }
};

// The slots that groups of this size need.
constexpr int slots_of(int group, int groups) {
  int slots = 1;
  if (groups > 1)
    while (group % (kRecordInputs / slots) != 0) slots *= 2;
  return slots;
}

__host__ __device__ constexpr int record_columns(int in) {
  return (in + kRecordInputs - 1) / kRecordInputs;
}
inline std::size_t packed_code_bytes(const CodeWeights& codes, int out, int in) {
  return std::size_t((out + 63) / 64) * std::size_t(record_columns(in)) *
         std::size_t(codes.record_bytes());
}

}  // namespace counterbeam::cuda
