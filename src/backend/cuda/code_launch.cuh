// Launches of the GEMM for quantised weights (code_kernel.cuh). products.cu chooses tiles and work.
#pragma once

#include <cuda.h>

#include "backend/cuda/product_tile.cuh"

namespace counterbeam::cuda {

struct CodeParameters {
  ProductParameters product;
  CodeWeights codes;
  int record_columns;
  int stages, stage_memory;  // of the ring in shared memory
};

// Rows of a tile: 16, 48 or 128.
constexpr int code_tile_rows(int rows) {
  return rows <= 16 ? 16 : rows <= 48 ? 48 : 128;
}

// Thread blocks that share a multiprocessor.
constexpr int code_blocks_per_processor(int tile_rows) {
  return tile_rows <= 48 ? 2 : 1;
}

// REQUIRED once per device.
void prepare_code_products();

// Fills in the stages of `p`. `rows`: the tensor map of the rows in boxes of code_tile_rows.
void run_codes(cudaStream_t stream, int tile_rows, Finish finish, CodeParameters p,
               const CUtensorMap& rows);

}  // namespace counterbeam::cuda
