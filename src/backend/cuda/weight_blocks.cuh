// The address of a weight in the packed layout of products.h.
#pragma once

#include "backend/cuda/products.h"

namespace counterbeam::cuda {

__device__ __forceinline__ int place_in_block(int out, int in) {
  return out * kBlock + ((in / 8) ^ (out % 8)) * 8 + in % 8;
}

// The offset of 8 adjacent inputs. REQUIRES `in` to be a multiple of 8.
__device__ __forceinline__ std::size_t place_of(int out, int in, int in_blocks) {
  return (std::size_t(out / kBlock) * in_blocks + in / kBlock) * kBlockElements +
         place_in_block(out % kBlock, in % kBlock);
}

}  // namespace counterbeam::cuda
