// Copies within the stores, collected by the host: one launch for all that a step needs.
#include <algorithm>

#include "backend/cuda/attention_kinds.h"
#include "backend/cuda/launch.h"

namespace counterbeam::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 8 * 132;  // resident on an H200 at once
constexpr int kAhead = 4;         // loads of a thread in flight before it stores

// Copies `count` elements, by a row of thread blocks.
template <typename T>
__device__ __forceinline__ void copy_elements(T* to, const T* from, std::size_t count) {
  const std::size_t threads = std::size_t(gridDim.x) * kThreads;
  for (std::size_t i = blockIdx.x * kThreads + threadIdx.x; i < count; i += kAhead * threads) {
    T element[kAhead];
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      if (i + j * threads < count) element[j] = from[i + j * threads];
    }
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      if (i + j * threads < count) to[i + j * threads] = element[j];
    }
  }
}

// Grid: [blocks, copies].
template <typename T>
__global__ void __launch_bounds__(kThreads)
    copy_slots(T* slots, std::size_t slot_elements, const CopyList copies) {
  let_successor_start();
  wait_for_predecessor();
  copy_elements(slots + std::size_t(copies.to[blockIdx.y]) * slot_elements,
                slots + std::size_t(copies.from[blockIdx.y]) * slot_elements, slot_elements);
}

// Grid: [layers x heads, keys and values, copies].
template <typename T>
__global__ void __launch_bounds__(kThreads)
    copy_heads(T* keys, T* values, KvShape shape, int pages, const CopyList copies) {
  let_successor_start();
  wait_for_predecessor();
  constexpr int kTogether = sizeof(T) / sizeof(Bf16);
  const int layer = int(blockIdx.x) / shape.heads, head = int(blockIdx.x) % shape.heads;
  const int block = block_elements(shape);
  const LayerPages of_page{nullptr, nullptr, shape.heads, shape.head_dim, block, shape.type};
  T* pool = (blockIdx.y == 0 ? keys : values) + of_page.at(layer * pages, 0) / kTogether;
  const T* from = pool + of_page.at(copies.from[blockIdx.z], head) / kTogether;
  T* to = pool + of_page.at(copies.to[blockIdx.z], head) / kTogether;
  const int elements =
      shape.type == CacheType::Plain ? copies.tokens[blockIdx.z] * shape.head_dim : block;
  const int count = elements / kTogether;
  for (int i = threadIdx.x; i < count; i += kThreads) to[i] = from[i];
}

}  // namespace

void copy_states(cudaStream_t stream, const StateView& states, const CopyList& copies) {
  if (copies.count == 0) return;
  const std::size_t floats = states.slot_floats();
  const dim3 grid(unsigned(std::max(1, kBlocks / copies.count)), unsigned(copies.count));
  if (floats % 4 == 0) {
    launch(stream, "copying states", copy_slots<float4>, grid, dim3(kThreads), 0,
           reinterpret_cast<float4*>(states.slots), floats / 4, copies);
  } else {
    launch(stream, "copying states", copy_slots<float>, grid, dim3(kThreads), 0, states.slots,
           floats, copies);
  }
}

void copy_pages(cudaStream_t stream, const KvView& kv, const CopyList& copies) {
  if (copies.count == 0) return;
  const dim3 grid(unsigned(kv.shape.layers * kv.shape.heads), 2, unsigned(copies.count));
  if (kv.shape.head_dim % 8 == 0 || kv.shape.type != CacheType::Plain) {
    launch(stream, "copying pages", copy_heads<uint4>, grid, dim3(kThreads), 0,
           reinterpret_cast<uint4*>(kv.keys), reinterpret_cast<uint4*>(kv.values), kv.shape,
           kv.pages, copies);
  } else {
    launch(stream, "copying pages", copy_heads<Bf16>, grid, dim3(kThreads), 0, kv.keys, kv.values,
           kv.shape, kv.pages, copies);
  }
}

}  // namespace counterbeam::cuda
