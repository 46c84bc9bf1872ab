#include "backend/cuda/products.h"

#include <cudaTypedefs.h>

#include <algorithm>

#include "backend/cuda/barrier.cuh"
#include "backend/cuda/launch.h"
#include "backend/cuda/wgmma.cuh"

namespace counterbeam::cuda {
namespace {

constexpr int kTileBlocks = 4;                          // 256 outputs: 2 warpgroups, 2 blocks each
constexpr int kConsumers = 256, kThreads = kConsumers + 128;
constexpr int kBlockBytes = kBlock * kBlock * 2;
constexpr int kWeightBytes = kTileBlocks * kBlockBytes;  // of a stage
constexpr int kFinishRows = 32;                          // that pass through shared memory at once
constexpr int kFinishStride = 128 + 8;                   // of a warpgroup's outputs
constexpr int kMostRows = 192;                           // of a tile
constexpr int kStreamTiles = 2;  // up to so many tiles of rows share the weights as they stream by
constexpr int kTileRows = 128;   // of a tile of more rows than that

// How the work on a weight is cut: `units` tiles-by-blocks in a row, `per_worker` of them together.
struct Cut {
  int tiles;     // of outputs
  int steps;     // blocks of inputs
  int per_worker;
  int workers;
};

struct Parameters {
  const Bf16* weights;
  int weight_blocks;   // of outputs
  int second_part;     // SiluMul: first block of the second half of the outputs; else 0
  Cut cut;
  int rows, outs;      // that are written
  void* out;
  int out_stride;
  const float* bias;
  float* partial_sums;
  unsigned* counts;
  int row_tiles;
};

// What a tile of N rows takes of shared memory.
template <int N>
struct Layout {
  static constexpr int kStages = N == 16 ? 6 : N <= 64 ? 5 : N <= 128 ? 4 : 3;
  static constexpr int kRowBytes = N * kBlock * 2;
  static constexpr int kStageBytes = kWeightBytes + kRowBytes;
  static constexpr int kBytes = 1024 + kStages * kStageBytes +
                                2 * kFinishRows * kFinishStride * 2 + 2 * kStages * 8;
};

// The block of weights that the i-th quarter of a tile multiplies; -1 beyond the last.
__device__ __forceinline__ int source_block(const Parameters& p, int tile, int i) {
  if (p.second_part > 0) {
    const int block = 2 * tile + i / 2;
    return block < p.second_part ? block + (i % 2) * p.second_part : -1;
  }
  const int block = kTileBlocks * tile + i;
  return block < p.weight_blocks ? block : -1;
}

__device__ __forceinline__ void sync_consumers() {
  asm volatile("bar.sync 1, 256;" ::: "memory");
}
__device__ __forceinline__ void sync_warpgroup(int group) {
  if (group == 0) {
    asm volatile("bar.sync 2, 128;" ::: "memory");
  } else {
    asm volatile("bar.sync 3, 128;" ::: "memory");
  }
}

// Part of a tile: steps [first, last) of its inputs.
struct Portion {
  int tile, first, last;
};

// The portions of a worker, one after the other.
__device__ __forceinline__ bool next_portion(const Cut& cut, int worker, int& unit,
                                             Portion& portion) {
  const int end = min((worker + 1) * cut.per_worker, cut.tiles * cut.steps);
  if (unit >= end) return false;
  portion.tile = unit / cut.steps;
  portion.first = unit - portion.tile * cut.steps;
  portion.last = min(cut.steps, portion.first + end - unit);
  unit += portion.last - portion.first;
  return true;
}

__device__ __forceinline__ float silu(float x) {
  return x / (1.0f + __expf(-x));
}
__device__ __forceinline__ float rounded(float x) {
  return __bfloat162float(__float2bfloat16(x));
}
__device__ __forceinline__ std::uint32_t pair(float low, float high) {
  __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<std::uint32_t*>(&both);
}

// Two 8 by 8 matrices of a warp into shared memory, each turned: rows there are columns here.
__device__ __forceinline__ void store_turned(std::uint32_t address, std::uint32_t a,
                                             std::uint32_t b) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(address),
               "r"(a), "r"(b)
               : "memory");
}

// Writes the sums of N rows of a tile. A warpgroup turns kFinishRows rows of the batch at a time through
// shared memory, so that a row's outputs leave side by side.
template <int N, Finish kFinish>
__device__ void finish_rows(const Parameters& p, float (&sum)[2][N / 2], int tile, int first_row,
                            Bf16* turned) {
  const int group = threadIdx.x / 128, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  if constexpr (kFinish == Finish::StoreFloat) {
    float* out = static_cast<float*>(p.out) + std::size_t(first_row) * p.out_stride;
    const int left = p.rows - first_row, first = 2 * (lane % 4);
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      const int column = (kTileBlocks * tile + 2 * group + b) * kBlock + 16 * warp + lane / 4;
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int at = column + 8 * h;
        float* to = out + first * p.out_stride + at;
#pragma unroll
        for (int i = 0; i < N / 4; ++i) {  // pairs of columns of the tile: rows here
          const int row = i / 2 * 8 + i % 2;
          if (first + row < left && at < p.outs) to[row * p.out_stride] = sum[b][i / 2 * 4 + 2 * h + i % 2];
        }
      }
    }
    return;
  } else {
    constexpr int kBlocks = kFinish == Finish::SiluMul ? 1 : 2;  // of outputs a warpgroup writes
    const int first_out = (2 * tile + group) * kBlocks * kBlock;
    if (p.bias != nullptr) {
#pragma unroll
      for (int b = 0; b < 2; ++b) {
        const int offset = kFinish == Finish::SiluMul ? b * p.outs : b * kBlock;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const int at = first_out + 16 * warp + 8 * h + lane / 4;
          const bool real = at + (kFinish == Finish::SiluMul ? 0 : offset) < p.outs;
          const float bias = real ? p.bias[at + offset] : 0.0f;
#pragma unroll
          for (int i = 0; i < N / 2; ++i) {
            if (i / 2 % 2 == h) sum[b][i] += bias;
          }
        }
      }
    }
    if constexpr (kFinish == Finish::SiluMul) {
#pragma unroll
      for (int i = 0; i < N / 2; ++i)
        sum[0][i] = rounded(silu(rounded(sum[0][i]))) * rounded(sum[1][i]);
    }
    Bf16* mine = turned + group * kFinishRows * kFinishStride;
    constexpr int kChunk = N < kFinishRows ? N : N % kFinishRows == 0 ? kFinishRows : kFinishRows / 2;
    Bf16* out = static_cast<Bf16*>(p.out);
    const bool aligned = p.out_stride % 8 == 0 && reinterpret_cast<std::uintptr_t>(out) % 16 == 0;
#pragma unroll
    for (int chunk = 0; chunk < N; chunk += kChunk) {
      sync_warpgroup(group);
#pragma unroll
      for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
        for (int j = 0; j < kChunk / 8; ++j) {
          const int at = (chunk / 8 + j) * 4;
          const int row = 8 * j + lane % 8, column = b * kBlock + 16 * warp + (lane / 8 % 2) * 8;
          store_turned(shared_address(mine + row * kFinishStride + column),
                       pair(sum[b][at], sum[b][at + 1]), pair(sum[b][at + 2], sum[b][at + 3]));
        }
      }
      sync_warpgroup(group);
      constexpr int kPieces = kBlocks * kBlock / 8;  // of 8 outputs, in a row
      for (int i = threadIdx.x % 128; i < kChunk * kPieces; i += 128) {
        const int row = first_row + chunk + i / kPieces, at = first_out + i % kPieces * 8;
        if (row >= p.rows || at >= p.outs) continue;
        alignas(16) Bf16 values[8];
        *reinterpret_cast<uint4*>(values) = *reinterpret_cast<const uint4*>(
            mine + i / kPieces * kFinishStride + i % kPieces * 8);
        Bf16* to = out + std::size_t(row) * p.out_stride + at;
        const bool whole = aligned && at + 8 <= p.outs;
        if constexpr (kFinish == Finish::Add) {
          alignas(16) Bf16 before[8];
          if (whole) {
            *reinterpret_cast<uint4*>(before) = *reinterpret_cast<const uint4*>(to);
          } else {
            for (int e = 0; e < 8; ++e) before[e] = at + e < p.outs ? to[e] : values[e];
          }
#pragma unroll
          for (int e = 0; e < 8; ++e)
            values[e] = __float2bfloat16(__bfloat162float(before[e]) + __bfloat162float(values[e]));
        }
        if (whole) {
          *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(values);
        } else {
          for (int e = 0; e < 8 && at + e < p.outs; ++e) to[e] = values[e];
        }
      }
    }
  }
}

// A thread's sums in memory, its own ones kConsumers apart.
template <int N>
__device__ __forceinline__ void set_aside(float* to, const float (&sum)[2][N / 2]) {
#pragma unroll
  for (int i = 0; i < N; ++i) __stcg(to + i * kConsumers, sum[i / (N / 2)][i % (N / 2)]);
}
template <int N>
__device__ __forceinline__ void add(float (&sum)[2][N / 2], const float* from) {
#pragma unroll
  for (int i = 0; i < N; ++i) sum[i / (N / 2)][i % (N / 2)] += __ldcg(from + i * kConsumers);
}

// The sums of a worker's part of a tile: those of the tile's beginning and those of a later part.
template <int N>
__device__ __forceinline__ float* slot_of(const Parameters& p, int worker, int row_tile,
                                          bool beginning) {
  const int slot = (worker * p.row_tiles + row_tile) * 2 + beginning;
  return p.partial_sums + std::size_t(slot) * (N * kConsumers) + threadIdx.x;
}

// Counts the workers that have left their sums of a tile, then those that have taken theirs.
__device__ __forceinline__ unsigned* count_of(const Parameters& p, int tile, int row_tile) {
  return p.counts + tile * p.cut.steps / p.cut.per_worker * p.row_tiles + row_tile;
}

__device__ __forceinline__ void wait_for_sums(unsigned* count, int workers) {
  if (threadIdx.x == 0) {
    unsigned ready = 0;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(ready) : "l"(count) : "memory");
    } while (ready < unsigned(workers));
  }
  sync_consumers();
}

template <int N>
__device__ void leave_sums(const Parameters& p, const float (&sum)[2][N / 2], const Portion& portion,
                           int worker, int row_tile) {
  set_aside<N>(slot_of<N>(p, worker, row_tile, portion.first == 0), sum);
  __threadfence();
  sync_consumers();
  if (threadIdx.x == 0) atomicAdd(count_of(p, portion.tile, row_tile), 1u);
}

// Of few workers, the one with a tile's beginning, which comes last in its turn, keeps its sums and
// adds what the others left of the tile before.
template <int N>
__device__ void take_sums(const Parameters& p, float (&sum)[2][N / 2], int tile, int worker,
                          int row_tile) {
  const int last = ((tile + 1) * p.cut.steps - 1) / p.cut.per_worker;
  wait_for_sums(count_of(p, tile, row_tile), last - worker);
  for (int other = worker + 1; other <= last; ++other)
    add<N>(sum, slot_of<N>(p, other, row_tile, false));
  if (threadIdx.x == 0) *count_of(p, tile, row_tile) = 0;
}

// Puts a tile together that many workers have parts of: when all have left their sums, each adds
// up some groups of eight rows, in the order of the inputs, and writes them.
template <int N, Finish kFinish>
__device__ void put_together(const Parameters& p, int tile, int worker, int row_tile,
                             Bf16* turned) {
  const int first = tile * p.cut.steps / p.cut.per_worker;
  const int last = ((tile + 1) * p.cut.steps - 1) / p.cut.per_worker, workers = last - first + 1;
  unsigned* count = count_of(p, tile, row_tile);
  wait_for_sums(count, workers);
  for (int group = worker - first; group < N / 8; group += workers) {
    const int first_row = row_tile * N + 8 * group;
    if (first_row >= p.rows) break;
    float sum[2][4];
    const float* from = slot_of<N>(p, first, row_tile, true) + 4 * group * kConsumers;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      sum[i / 4][i % 4] = __ldcg(from + (i / 4 * (N / 2) + i % 4) * kConsumers);
#pragma unroll 4
    for (int other = first + 1; other <= last; ++other) {
      from = slot_of<N>(p, other, row_tile, false) + 4 * group * kConsumers;
#pragma unroll
      for (int i = 0; i < 8; ++i)
        sum[i / 4][i % 4] += __ldcg(from + (i / 4 * (N / 2) + i % 4) * kConsumers);
    }
    finish_rows<8, kFinish>(p, sum, tile, first_row, turned);
  }
  if (threadIdx.x == 0) {
    const unsigned taken = atomicAdd(count, 1u) + 1;
    if (taken == 2 * unsigned(workers)) *count = 0;
  }
}

// Where a thread sets sums aside: one block at a time lives on a processor.
template <int N>
__device__ __forceinline__ float* own_memory(const Parameters& p) {
  unsigned processor;
  asm("mov.u32 %0, %%smid;" : "=r"(processor));
  return p.partial_sums + std::size_t(processor) * (N * kConsumers) + threadIdx.x;
}

// kStream: a worker takes `per_worker` units from wherever they begin, so that all workers read as
// much; tiles that several of them work on are put together in the end.
// Otherwise a worker takes a whole tile and sets sums aside at the same points.
template <int N, Finish kFinish, bool kStream>
__global__ void __launch_bounds__(kThreads, 1)
    product_kernel(const __grid_constant__ Parameters p, const __grid_constant__ CUtensorMap x) {
  extern __shared__ std::uint8_t unaligned[];
  std::uint8_t* stage_memory = reinterpret_cast<std::uint8_t*>(
      (reinterpret_cast<std::uintptr_t>(unaligned) + 1023) / 1024 * 1024);
  constexpr int kStages = Layout<N>::kStages, kStageBytes = Layout<N>::kStageBytes;
  Bf16* turned = reinterpret_cast<Bf16*>(stage_memory + kStages * kStageBytes);
  auto* full = reinterpret_cast<std::uint64_t*>(turned + 2 * kFinishRows * kFinishStride);
  std::uint64_t* empty = full + kStages;

  int row_tile, worker, unit;
  Cut cut = p.cut;
  if constexpr (kStream) {
    row_tile = blockIdx.x % p.row_tiles;
    worker = blockIdx.x / p.row_tiles;
    unit = worker * cut.per_worker;
  } else {
    // Groups of 16 tiles of rows by all outputs, so that neighbours in time share what they read.
    constexpr int kGroup = 16;
    const int in_group = kGroup * cut.tiles, group = blockIdx.x / in_group;
    const int rows_here = min(kGroup, p.row_tiles - group * kGroup);
    const int i = blockIdx.x - group * in_group;
    row_tile = group * kGroup + i % rows_here;
    worker = i / rows_here;
    unit = worker * cut.steps;
    cut.per_worker = cut.steps;
  }

  let_successor_start();
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(full + s, 1);
      barrier_init(empty + s, 2);
    }
    barriers_visible();
  }
  __syncthreads();

  if (threadIdx.x >= kConsumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x != kConsumers) return;
    const std::uint64_t policy = kStream && p.row_tiles == 1 ? kReadOnce : kKeep;
    const int end = min(unit + cut.per_worker, cut.tiles * cut.steps);
    const auto load_weights = [&](int u, int stage) {
      const int tile = u / cut.steps, step = u - tile * cut.steps;
      int bytes = Layout<N>::kRowBytes;
      for (int i = 0; i < kTileBlocks; ++i) bytes += source_block(p, tile, i) >= 0 ? kBlockBytes : 0;
      barrier_expect(full + stage, bytes);
      for (int i = 0; i < kTileBlocks; ++i) {
        const int block = source_block(p, tile, i);
        if (block < 0) continue;
        copy_bytes(stage_memory + stage * kStageBytes + i * kBlockBytes,
                   p.weights + (std::size_t(block) * cut.steps + step) * kBlockElements,
                   kBlockBytes, full + stage, policy);
      }
    };
    const auto load_rows = [&](int u, int stage) {
      copy_box(stage_memory + stage * kStageBytes + kWeightBytes, &x, u % cut.steps * kBlock,
               row_tile * N, full + stage, kKeep);
    };
    // Weights come while the kernel before this one is still at work.
    const int ahead = min(kStages, end - unit);
    for (int i = 0; i < ahead; ++i) load_weights(unit + i, i);
    wait_for_predecessor();
    for (int i = 0; i < ahead; ++i) load_rows(unit + i, i);
    for (int i = ahead; unit + i < end; ++i) {
      const int stage = i % kStages;
      barrier_wait(empty + stage, (i / kStages - 1) % 2);
      load_weights(unit + i, stage);
      load_rows(unit + i, stage);
    }
    return;
  }

  asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  wait_for_predecessor();
  const int group = __shfl_sync(~0u, threadIdx.x / 128, 0);
  Portion portion;
  int done = 0;                            // stages used so far
  int begun_before = -1, begun_here = -1;  // tiles that other workers have parts of
  while (next_portion(cut, worker, unit, portion)) {
    // From one cut to the next.
    for (int step = portion.first; step < portion.last;) {
      int stop = portion.last;
      if constexpr (!kStream) {
        const int before = portion.tile * cut.steps + step;
        stop = min(stop, step + p.cut.per_worker - before % p.cut.per_worker);
      }
      const int begin = step;
      float sum[2][N / 2];
      for (; step < stop; ++step, ++done) {
        const int stage = done % kStages;
        barrier_wait(full + stage, done / kStages % 2);
        const std::uint32_t at = shared_address(stage_memory + stage * kStageBytes);
        const std::uint64_t rows = tile_descriptor(at + kWeightBytes);
        const std::uint64_t outs = tile_descriptor(at + 2 * group * kBlockBytes);
        products_begin();
#pragma unroll
        for (int k = 0; k < kBlock / 16; ++k) {
#pragma unroll
          for (int b = 0; b < 2; ++b) {
            multiply<N>(sum[b], outs + b * (kBlockBytes >> 4) + k * kDescriptorStep,
                        rows + k * kDescriptorStep, k > 0 || step > begin);
          }
        }
        products_commit();
        products_wait<1>();
        if (step > begin && threadIdx.x % 128 == 0) barrier_arrive(empty + (done - 1) % kStages);
      }
      products_wait<0>();
      if (threadIdx.x % 128 == 0) barrier_arrive(empty + (done - 1) % kStages);
      if constexpr (kStream) {
        const bool few = cut.per_worker >= cut.steps;  // workers to a tile
        if (portion.first > 0 || (portion.last < cut.steps && !few)) {
          leave_sums<N>(p, sum, portion, worker, row_tile);
          if (!few) (portion.first > 0 ? begun_before : begun_here) = portion.tile;
          continue;
        }
        if (portion.last < cut.steps) take_sums<N>(p, sum, portion.tile, worker, row_tile);
      } else {
        float* aside = own_memory<N>(p);
        if (begin > portion.first) add<N>(sum, aside);
        if (stop < portion.last) {
          set_aside<N>(aside, sum);
          continue;
        }
      }
      finish_rows<N, kFinish>(p, sum, portion.tile, row_tile * N, turned);
    }
  }
  if constexpr (kStream) {
    if (begun_before >= 0) put_together<N, kFinish>(p, begun_before, worker, row_tile, turned);
    if (begun_here >= 0) put_together<N, kFinish>(p, begun_here, worker, row_tile, turned);
  }
}

using EncodeTiled = PFN_cuTensorMapEncodeTiled_v12000;

EncodeTiled encode_tiled() {
  static const EncodeTiled function = [] {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult found{};
    check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address, 12000,
                                           cudaEnableDefault, &found),
          "finding cuTensorMapEncodeTiled in the driver");
    return reinterpret_cast<EncodeTiled>(address);
  }();
  return function;
}

// Boxes of 64 inputs by `box_rows` rows; what lies outside x reads as zero.
CUtensorMap row_boxes(Matrix x, int box_rows) {
  CUtensorMap map;
  const cuuint64_t size[] = {cuuint64_t(x.width), cuuint64_t(x.rows)};
  const cuuint64_t strides[] = {cuuint64_t(x.stride) * 2};
  const cuuint32_t box[] = {kBlock, cuuint32_t(box_rows)}, step[] = {1, 1};
  const CUresult status = encode_tiled()(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, x.data, size, strides, box, step,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  check(status == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue, "describing rows");
  return map;
}

Cut cut_of(int tiles, int steps, int processors) {
  const int units = tiles * steps;
  const int least = std::min(steps, 4);  // shorter parts cost more to put together than they save
  const int per_worker = std::max(least, (units + processors - 1) / processors);
  return {tiles, steps, per_worker, (units + per_worker - 1) / per_worker};
}

template <int N, Finish kFinish>
void run(cudaStream_t stream, const Parameters& parameters, Matrix x) {
  const CUtensorMap map = row_boxes(x, N);
  if (parameters.row_tiles <= kStreamTiles) {
    launch(stream, "product", product_kernel<N, kFinish, true>,
           parameters.cut.workers * parameters.row_tiles, kThreads, Layout<N>::kBytes, parameters,
           map);
    return;
  }
  if constexpr (N == kTileRows) {
    launch(stream, "product", product_kernel<N, kFinish, false>,
           parameters.cut.tiles * parameters.row_tiles, kThreads, Layout<N>::kBytes, parameters,
           map);
  }
}

template <int N>
void run(cudaStream_t stream, Finish finish, const Parameters& parameters, Matrix x) {
  switch (finish) {
    case Finish::Store: return run<N, Finish::Store>(stream, parameters, x);
    case Finish::Add: return run<N, Finish::Add>(stream, parameters, x);
    case Finish::SiluMul: return run<N, Finish::SiluMul>(stream, parameters, x);
    case Finish::StoreFloat: return run<N, Finish::StoreFloat>(stream, parameters, x);
  }
}

template <int N, Finish kFinish>
void allow_shared_memory() {
  const auto allow = [](auto kernel) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               Layout<N>::kBytes),
          "asking for shared memory");
  };
  allow(product_kernel<N, kFinish, true>);
  if constexpr (N == kTileRows) allow(product_kernel<N, kFinish, false>);
}

template <int N>
void allow_shared_memory() {
  allow_shared_memory<N, Finish::Store>();
  allow_shared_memory<N, Finish::Add>();
  allow_shared_memory<N, Finish::SiluMul>();
  allow_shared_memory<N, Finish::StoreFloat>();
}

}  // namespace

std::size_t product_workspace(int processors) {
  return std::size_t(processors) * kStreamTiles * 2 * kMostRows * kConsumers * sizeof(float);
}

int product_counts(int processors) {
  return processors * kStreamTiles;
}

void prepare_products() {
  allow_shared_memory<16>();
  allow_shared_memory<32>();
  allow_shared_memory<48>();
  allow_shared_memory<64>();
  allow_shared_memory<128>();
  allow_shared_memory<192>();
}

void product(cudaStream_t stream, const ProductDevice& device, const ProductTarget& target,
             Matrix x, const Weights& weights) {
  const bool pairs = target.finish == Finish::SiluMul;
  const int blocks = blocks_of(weights.out);
  Parameters p{};
  p.weights = weights.blocks;
  p.weight_blocks = blocks;
  p.second_part = pairs ? blocks / 2 : 0;
  p.cut = cut_of((blocks + kTileBlocks - 1) / kTileBlocks, blocks_of(weights.in),
                 device.processors);
  p.rows = x.rows;
  p.outs = pairs ? weights.out / 2 : weights.out;
  p.out = target.data;
  p.out_stride = target.stride;
  p.bias = target.bias;
  p.partial_sums = device.partial_sums;
  p.counts = device.counts;
  const auto run_tiles = [&]<int N>() {
    p.row_tiles = (x.rows + N - 1) / N;
    run<N>(stream, target.finish, p, x);
  };
  if (x.rows <= 16) return run_tiles.operator()<16>();
  if (x.rows <= 32) return run_tiles.operator()<32>();
  if (x.rows <= 48) return run_tiles.operator()<48>();
  if (x.rows <= 64) return run_tiles.operator()<64>();
  const bool by_192 = (x.rows > 128 && x.rows <= 192) || (x.rows > 256 && x.rows <= 384);
  if (by_192) return run_tiles.operator()<192>();
  run_tiles.operator()<128>();
}

}  // namespace counterbeam::cuda
