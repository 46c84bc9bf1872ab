// Query rows of the attention kernels, and loads into tiles in shared memory. The query rows of a
// segment and key head are the query heads that share the key head, token by token: query row f is
// head f % group of token f / group.
#pragma once

#include "backend/cuda/attention_codes.cuh"

namespace counterbeam::cuda {

// The query rows of one segment and one key head.
struct QueryRows {
  DeviceSegment segment;
  int group, kv_head;

  __device__ int count() const { return segment.rows * group; }
  __device__ int length() const { return segment.position + segment.rows; }
  __device__ int row(int f) const { return segment.first_row + f / group; }
  __device__ int head(int f) const { return kv_head * group + f % group; }
  // Rows beyond the last are computed like the last one and dropped.
  __device__ int position(int f) const {
    return segment.position + min(f / group, segment.rows - 1);
  }
  __device__ int first_tile(int f, int window) const {
    return window > 0 ? max(0, position(f) - window + 1) / kTileKeys : 0;
  }
  __device__ int end_tile(int f) const { return position(f) / kTileKeys + 1; }
};

// The query rows of one key head for the readers of a tile.
struct ReaderRows {
  SharedTile tile;
  int group, kv_head;
  unsigned group_inverse;  // AttentionInput's

  __device__ int count() const { return tile.readers * group; }
  __device__ int row(int f) const { return pick(tile.row, reader(f)); }
  __device__ int head(int f) const { return kv_head * group + f - reader(f) * group; }
  __device__ int position(int f) const {
    return pick(tile.position, min(reader(f), tile.readers - 1));
  }

 private:
  __device__ int reader(int f) const { return group == 1 ? f : __umulhi(f, group_inverse); }
  // Selects without indexing, so that the tile stays in registers.
  __device__ static int pick(const int (&of)[kTileReaders], int i) {
    static_assert(kTileReaders == 4);
    const int a = of[0], b = of[1], c = of[2], d = of[3];
    return i & 2 ? (i & 1 ? d : c) : (i & 1 ? b : a);
  }
};

// Columns 8 piece to 8 piece + 7.
template <bool kGeneral, typename Rows>
__device__ __forceinline__ uint4 query_piece(const AttentionInput& in, const Rows& rows, int f,
                                             int piece) {
  if (f >= rows.count()) return {0, 0, 0, 0};
  const int d = in.kv.head_dim;
  const Bf16* from = in.q + std::ptrdiff_t(rows.row(f)) * in.q_stride + rows.head(f) * d;
  if (!kGeneral) return *reinterpret_cast<const uint4*>(from + piece * 8);
  const auto pair = [&](int column) {
    std::uint32_t bits = column < d ? __bfloat16_as_ushort(from[column]) : 0u;
    if (column + 1 < d) bits |= std::uint32_t(__bfloat16_as_ushort(from[column + 1])) << 16;
    return bits;
  };
  return {pair(piece * 8), pair(piece * 8 + 2), pair(piece * 8 + 4), pair(piece * 8 + 6)};
}

// Loads query rows [first, first + kRows) into a tile in shared memory, spread over the threads of
// a block; all loads are in flight at once.
template <int D, int kRows, int kThreads, bool kGeneral>
class Queries {
 public:
  template <typename Rows>
  __device__ __forceinline__ void load(const AttentionInput& in, const Rows& rows, int first) {
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      pieces_[i] = query_piece<kGeneral>(in, rows, first + at(i) / kPieces, at(i) % kPieces);
  }
  __device__ __forceinline__ void store(char* to) const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      *reinterpret_cast<uint4*>(to + tile_offset<D>(at(i) / kPieces, at(i) % kPieces)) = pieces_[i];
    }
  }

 private:
  static constexpr int kPieces = D / 8, kEach = kRows * kPieces / kThreads;
  static_assert(kEach * kThreads == kRows * kPieces);
  __device__ static int at(int i) {
    return i * kThreads + int(threadIdx.x);
  }
  uint4 pieces_[kEach];
};

template <bool kGeneral>
__device__ __forceinline__ void write_pair(Bf16* to, int column, int head_dim, float low,
                                           float high) {
  if (!kGeneral) {
    *reinterpret_cast<std::uint32_t*>(to + column) = pack(low, high);
    return;
  }
  if (column < head_dim) to[column] = __float2bfloat16_rn(low);
  if (column + 1 < head_dim) to[column + 1] = __float2bfloat16_rn(high);
}

// The number of stored tokens of a tile; memory beyond them may hold anything.
__device__ __forceinline__ int stored_keys(const QueryRows& rows, int tile) {
  return min(kTileKeys, rows.length() - tile * kTileKeys);
}

constexpr std::uint64_t kNoHint =
    0x1000000000000000;  // normal L2 eviction priority: other beams may read the page again

// Starts the copy of a tile's keys (or values), whose pages are those at `pages`.
template <int D>
__device__ __forceinline__ void copy_tile(char* to, const Bf16* pool, const AttentionInput& in,
                                          int kv_head, const int (&pages)[kTilePages], int stored,
                                          std::uint64_t* barrier) {
  barrier_expect(barrier, stored * D * 2);
#pragma unroll
  for (int i = 0; i < kTilePages; ++i) {
    const int tokens = min(kPageTokens, stored - i * kPageTokens);
    if (tokens > 0) {
      copy_bytes(to + i * kPageTokens * D * 2, pool + in.kv.at(pages[i], kv_head), tokens * D * 2,
                 barrier, kNoHint);
    }
  }
}

__device__ __forceinline__ void tile_pages(int (&pages)[kTilePages], const AttentionInput& in,
                                           const QueryRows& rows, int tile) {
  const int* ids = in.batch.pages + rows.segment.first_page + tile * kTilePages;
#pragma unroll
  for (int i = 0; i < kTilePages; ++i) {
    pages[i] = (tile * kTilePages + i) * kPageTokens < rows.length() ? ids[i] : 0;
  }
}

// Zeroes values beyond the stored ones: their weights are 0, but 0 times NaN is NaN.
template <int D>
__device__ __forceinline__ void wipe_values(char* values, int stored, int thread, int threads) {
  for (int i = stored * D / 8 + thread; i < kTileKeys * D / 8; i += threads) {
    reinterpret_cast<uint4*>(values)[i] = uint4{0, 0, 0, 0};
  }
}

// Loads a tile of any width, element by element; missing elements become 0.
template <int D>
__device__ __forceinline__ void gather_tile(char* to, const Bf16* pool, const AttentionInput& in,
                                            int kv_head, const int (&pages)[kTilePages], int stored,
                                            int thread, int threads) {
  const int d = in.kv.head_dim;
  for (int i = thread; i < kTileKeys * D; i += threads) {
    const int token = i / D, column = i % D;
    Bf16 value = __float2bfloat16_rn(0.0f);
    if (token < stored && column < d) {
      const int page = token < kPageTokens ? pages[0] : pages[1];
      const int at = token % kPageTokens;
      const Bf16* block = pool + in.kv.at(page, kv_head);
      value = in.kv.type == CacheType::Plain ? block[page_index(at, column, d)]
                                             : decoded(block, in.kv.type, at, column, d);
    }
    *reinterpret_cast<Bf16*>(to + tile_offset<D>(token, column / 8) + column % 8 * 2) = value;
  }
}

}  // namespace counterbeam::cuda
