// Rotates queries and keys and stores keys and values in their pages. Every column is computed in
// float32 and rounded once, so that the stored key equals the rotated row. A cache of 8 bits stores
// the codes of these rounded rows.
#include <algorithm>

#include "backend/cache_codes.h"
#include "backend/cuda/attention_kinds.h"
#include "backend/cuda/kv_pages.cuh"
#include "backend/cuda/launch.h"

namespace counterbeam::cuda {
namespace {

struct Rows {
  Bf16* data;  // null: none
  int stride, heads;
};

struct RopeStore {
  Rows q, k, v;
  int head_dim;
  DeviceRope rope;  // half 0: no rotation
  LayerPages kv;    // null keys: nothing is stored
  DeviceBatch batch;
};

// The unit of work of a thread: U columns, or two groups of U columns that are rotated as pairs.
template <int U>
struct alignas(U * sizeof(Bf16)) Columns {
  Bf16 of[U];
};

template <int U>
__device__ __forceinline__ Columns<U>* columns(Bf16* row, int first) {
  return reinterpret_cast<Columns<U>*>(row + first);
}

template <int U>
__device__ __forceinline__ void turn(Columns<U>& low, Columns<U>& high, const float2* turns) {
#pragma unroll
  for (int i = 0; i < U; ++i) {
    const float x = __bfloat162float(low.of[i]), y = __bfloat162float(high.of[i]);
    const float c = turns[i].x, s = turns[i].y;
    low.of[i] = __float2bfloat16_rn(__fmaf_rn(x, c, -__fmul_rn(y, s)));
    high.of[i] = __float2bfloat16_rn(__fmaf_rn(y, c, __fmul_rn(x, s)));
  }
}

// The location of a row's token in its page.
struct Place {
  int page, token;
};

template <int U>
__device__ __forceinline__ void store(Bf16* pool, const RopeStore& in, Place place, int head,
                                      int column, const Columns<U>& value) {
  if (in.kv.keys == nullptr) return;
  Bf16* at = pool + in.kv.at(place.page, head);
  *columns<U>(at, page_index(place.token, column, in.head_dim)) = value;
}

// Item `item` of a matrix whose heads are rotated: pairs first, then the columns without rotation.
template <int U>
__device__ __forceinline__ void turn_item(const RopeStore& in, const Rows& rows, Bf16* pool,
                                          Place place, int row, int item, const float2* turns) {
  const int half = in.rope.half, pairs = half / U;
  const int items = pool == nullptr ? pairs : pairs + (in.head_dim - 2 * half) / U;
  const int head = item / items, i = item % items;
  Bf16* at = rows.data + std::ptrdiff_t(row) * rows.stride + head * in.head_dim;
  if (i >= pairs) {
    const int column = 2 * half + (i - pairs) * U;
    store<U>(pool, in, place, head, column, *columns<U>(at, column));
    return;
  }
  Columns<U> low = *columns<U>(at, i * U), high = *columns<U>(at, half + i * U);
  turn<U>(low, high, turns + i * U);
  *columns<U>(at, i * U) = low;
  *columns<U>(at, half + i * U) = high;
  if (pool == nullptr) return;
  store<U>(pool, in, place, head, i * U, low);
  store<U>(pool, in, place, head, half + i * U, high);
}

// The codes of one head of a row, by a warp: HeadCoder of cache_codes.h on the device.
__device__ __forceinline__ void store_codes(const RopeStore& in, Place place, int row, bool values,
                                            int head) {
  constexpr int kEach = kMostHeadDim / 32;
  const Rows& rows = values ? in.v : in.k;
  const Bf16* from = rows.data + std::ptrdiff_t(row) * rows.stride + head * in.head_dim;
  const int lane = int(threadIdx.x) % 32;
  float numbers[kEach];
  unsigned largest = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int column = i * 32 + lane;
    numbers[i] = column < in.head_dim ? __bfloat162float(from[column]) : 0.0f;
    largest = max(largest, __float_as_uint(numbers[i]) & 0x7fffffffu);
  }
  largest = __reduce_max_sync(~0u, largest);
  const bool fp8 = in.kv.type == CacheType::Fp8, finite = largest < 0x7f800000u;
  const bool coded = finite && __uint_as_float(largest) >= kSmallestCoded;
  float scale = finite ? 0.0f : __uint_as_float(0x7fc00000u), inverse = 0;
  if (coded) {
    scale = __fdiv_rn(__uint_as_float(largest), fp8 ? kLargestFp8Code : kLargestInt8Code);
    inverse = __frcp_rn(scale);
  }
  Bf16* block = (values ? in.kv.values : in.kv.keys) + in.kv.at(place.page, head);
  auto* scales = reinterpret_cast<float*>(block);
  auto* codes = reinterpret_cast<std::uint8_t*>(scales + kPageTokens) + place.token * in.head_dim;
  if (lane == 0) scales[place.token] = scale;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int column = i * 32 + lane;
    if (column >= in.head_dim) continue;
    const float steps = coded ? __fmul_rn(numbers[i], inverse) : 0.0f;
    codes[column] = fp8 ? __nv_cvt_float_to_fp8(steps, __NV_SATFINITE, __NV_E4M3)
                        : static_cast<std::uint8_t>(max(-127, min(127, __float2int_rn(steps))));
  }
}

template <int U>
__host__ __device__ int turned_items(const RopeStore& in, const Rows& rows, bool stored) {
  const int half = in.rope.half;
  return rows.heads * (stored ? (in.head_dim - half) / U : half / U);
}

// One block per row. With codes, columns are stored when the whole row is rotated.
template <int U, bool kCodes>
__global__ void rope_store(RopeStore in) {
  extern __shared__ float2 turns[];  // [half]: cosine and sine
  let_successor_start();
  // The batch is written before the step begins; only the rows come from preceding kernels.
  const int row = blockIdx.x, position = in.batch.row_position[row];
  if (position < 0) {
    wait_for_predecessor();  // keeps kernels in order, which the successor relies on
    return;
  }
  Place place{0, position % kPageTokens};
  if (in.kv.keys != nullptr) {
    const DeviceSegment& segment = in.batch.segments[in.batch.row_segment[row]];
    place.page = in.batch.pages[segment.first_page + position / kPageTokens];
  }
  for (int j = threadIdx.x; j < in.rope.half; j += blockDim.x) {
    const float angle = __fmul_rn(float(position), in.rope.inverse_frequency[j]);
    float sine, cosine;
    sincosf(angle, &sine, &cosine);
    turns[j] = {__fmul_rn(cosine, in.rope.scale), __fmul_rn(sine, in.rope.scale)};
  }
  wait_for_predecessor();
  __syncthreads();
  const int of_q = turned_items<U>(in, in.q, false);
  const int of_k = turned_items<U>(in, in.k, !kCodes);
  const int per_head = in.head_dim / U, of_v = kCodes ? 0 : in.v.heads * per_head;
  for (int i = threadIdx.x; i < of_q + of_k + of_v; i += blockDim.x) {
    if (i < of_q) {
      turn_item<U>(in, in.q, nullptr, place, row, i, turns);
    } else if (i < of_q + of_k) {
      turn_item<U>(in, in.k, kCodes ? nullptr : in.kv.keys, place, row, i - of_q, turns);
    } else {
      const int head = (i - of_q - of_k) / per_head, column = (i - of_q - of_k) % per_head * U;
      Bf16* at = in.v.data + std::ptrdiff_t(row) * in.v.stride + head * in.head_dim;
      store<U>(in.kv.values, in, place, head, column, *columns<U>(at, column));
    }
  }
  if (!kCodes) return;
  __syncthreads();  // until the keys are rotated
  for (int item = int(threadIdx.x) / 32; item < 2 * in.kv.heads; item += int(blockDim.x) / 32)
    store_codes(in, place, row, item >= in.kv.heads, item % in.kv.heads);
}

bool in_eights(const Rows& rows) {
  return rows.data == nullptr ||
         (reinterpret_cast<std::uintptr_t>(rows.data) % 16 == 0 && rows.stride % 8 == 0);
}

template <int U>
void launch_rows(cudaStream_t stream, const RopeStore& in) {
  const int items = turned_items<U>(in, in.q, false) + turned_items<U>(in, in.k, true) +
                    in.v.heads * in.head_dim / U;
  const unsigned threads = unsigned(std::clamp((items + 31) / 32 * 32, 32, 1024));
  const bool codes = in.kv.keys != nullptr && in.kv.type != CacheType::Plain;
  launch(stream, "turning and storing", codes ? rope_store<U, true> : rope_store<U, false>,
         unsigned(in.batch.rows), threads, std::size_t(in.rope.half) * sizeof(float2), in);
}

void launch_rows(cudaStream_t stream, const RopeStore& in) {
  if (in.batch.rows == 0) return;
  const bool eights = in_eights(in.q) && in_eights(in.k) && in_eights(in.v) &&
                      in.head_dim % 8 == 0 && in.rope.half % 8 == 0;
  eights ? launch_rows<8>(stream, in) : launch_rows<1>(stream, in);
}

Rows rows_of(Matrix m, int heads) {
  return {static_cast<Bf16*>(m.data), m.stride, heads};
}

}  // namespace

void rope(cudaStream_t stream, Matrix x, int heads, const DeviceRope& rope,
          const DeviceBatch& batch) {
  launch_rows(stream, {rows_of(x, heads), {}, {}, x.width / heads, rope, {}, batch});
}

void store_kv(cudaStream_t stream, const KvView& kv, int layer, Matrix k, Matrix v,
              const DeviceBatch& batch) {
  const int heads = kv.shape.heads;
  launch_rows(stream, {{},
                       rows_of(k, heads),
                       rows_of(v, heads),
                       kv.shape.head_dim,
                       {nullptr, 0, 1.0f},
                       layer_pages(kv, layer),
                       batch});
}

void rope_and_store(cudaStream_t stream, Matrix q, Matrix k, Matrix v, int heads,
                    const DeviceRope& rope, const KvView& kv, int layer, const DeviceBatch& batch) {
  launch_rows(stream, {rows_of(q, heads), rows_of(k, kv.shape.heads), rows_of(v, kv.shape.heads),
                       kv.shape.head_dim, rope, layer_pages(kv, layer), batch});
}

}  // namespace counterbeam::cuda
