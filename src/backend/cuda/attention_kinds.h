// The three attention kernels: few query rows merged within a cluster (attention_cluster.cu), few
// query rows merged by a second kernel (attention_parts.cu), many query rows (attention_many.cu).
// They give the same bits; attention.cpp chooses.
#pragma once

#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"

namespace counterbeam::cuda {

// The keys and values of one layer.
struct LayerPages {
  Bf16* keys;
  Bf16* values;
  int heads, head_dim;
  int block;  // block_elements()
  CacheType type;

  // The block of a page's head.
  __host__ __device__ std::size_t at(int page, int head) const {
    return (std::size_t(page) * std::size_t(heads) + std::size_t(head)) * std::size_t(block);
  }
};

inline LayerPages layer_pages(const KvView& kv, int layer) {
  const KvShape& shape = kv.shape;
  const std::size_t first = std::size_t(layer) * std::size_t(kv.pages) * std::size_t(shape.heads) *
                            std::size_t(block_elements(shape));
  return {kv.keys + first, kv.values + first,     shape.heads,
          shape.head_dim,  block_elements(shape), shape.type};
}

// The softmax state of a query row over one tile, or over all tiles so far.
struct RowSum {
  float top;  // largest score, times log2 e
  float sum;  // of 2^(score - top)
};

struct AttentionInput {
  Bf16* out;
  const Bf16* q;
  int out_stride, q_stride;
  LayerPages kv;
  int heads, group;
  unsigned group_inverse;  // 2^32 / group, rounded up: f / group is the upper half of the product
  float scale;             // times log2 e
  int window;
  DeviceBatch batch;
  // If several blocks compute a row: values [row][head][tile][D] and their sums [row][head][tile].
  float* partial_values;
  RowSum* partial_sums;
  int partial_tiles;
};

// How a tile of keys or values gets into shared memory: by bulk copies; element by element, where
// the head is narrower than the tile or rows are not aligned; or from the codes of a cache of 8
// bits. All give the same numbers.
enum class TileLoad { Bulk, Gather, Codes };

// `width`: 64, 128 or 256, at least the head's; `general`: the head is narrower, or rows are not
// 16-byte aligned. `tiles`: of the longest context, at most cluster_tiles(). Clusters REQUIRE
// segments of one row, at most cluster_group() heads per key head and no codes; parts REQUIRE
// batch.tiles.
void attend_in_clusters(cudaStream_t stream, const AttentionInput& in, int width, int tiles);
void attend_in_parts(cudaStream_t stream, const AttentionInput& in, int width, bool general);
void attend_many(cudaStream_t stream, const AttentionInput& in, int width, bool general);
int cluster_tiles();
int cluster_group();

#ifdef __CUDACC__
// Calls f.template operator()<TileLoad>() with the one that suits the input.
template <typename F>
void with_load(const AttentionInput& in, bool general, const F& f) {
  if (general) return f.template operator()<TileLoad::Gather>();
  if (in.kv.type != CacheType::Plain) return f.template operator()<TileLoad::Codes>();
  f.template operator()<TileLoad::Bulk>();
}

// Allows a kernel to use that much dynamic shared memory.
template <auto kKernel>
void allow_shared(int bytes) {
  static const cudaError_t status =
      cudaFuncSetAttribute(kKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  check(status, "asking for shared memory");
}
#endif

}  // namespace counterbeam::cuda
