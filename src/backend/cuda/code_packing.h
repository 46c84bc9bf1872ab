// Kernels that write and read records of codes (code_weights.h), beside the products.
#pragma once

#include "backend/cuda/products.h"

namespace counterbeam::cuda {

// Rows of a quantised matrix on the device, as StoredMatrix gives them: a byte per code.
struct CodeRows {
  const std::uint8_t* codes = nullptr;  // [outs, in]
  const float* scales = nullptr;        // [outs, groups]
  const float* offsets = nullptr;       // the same; null: zero
};

// Packs them as rows [first_out, first_out + outs) of weights.codes.
void pack_codes(cudaStream_t stream, const Weights& weights, int first_out, int outs,
                const CodeRows& rows);

// The whole matrix as plain blocks of weights. REQUIRES room for packed_elements().
void decode_codes(cudaStream_t stream, Bf16* blocks, const Weights& weights);

// embed() of kernels.h with a quantised table.
void embed_codes(cudaStream_t stream, Matrix out, const Weights& table, float scale,
                 const DeviceBatch& batch);

}  // namespace counterbeam::cuda
