#include <cudaTypedefs.h>

#include <algorithm>

#include "backend/cuda/launch.h"
#include "backend/cuda/product_sums.cuh"
#include "backend/cuda/products.h"
#include "backend/cuda/wgmma.cuh"

namespace counterbeam::cuda {
namespace {

// kStream: a worker takes `per_worker` units from wherever they begin, so that all workers read as
// much; tiles that several of them work on are put together in the end.
// Otherwise a worker takes a whole tile and sets sums aside at the same points.
template <int N, Finish kFinish, bool kStream>
__global__ void __launch_bounds__(kThreads, 1)
    product_kernel(const __grid_constant__ ProductParameters p,
                   const __grid_constant__ CUtensorMap x) {
  extern __shared__ std::uint8_t unaligned[];
  std::uint8_t* stage_memory = reinterpret_cast<std::uint8_t*>(
      (reinterpret_cast<std::uintptr_t>(unaligned) + 1023) / 1024 * 1024);
  constexpr int kStages = ProductLayout<N>::kStages, kStageBytes = ProductLayout<N>::kStageBytes;
  Bf16* turned = reinterpret_cast<Bf16*>(stage_memory + kStages * kStageBytes);
  auto* full = reinterpret_cast<std::uint64_t*>(turned + 2 * kFinishRows * kFinishStride);
  std::uint64_t* empty = full + kStages;

  int row_tile, worker, unit;
  ProductCut cut = p.cut;
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
      int bytes = ProductLayout<N>::kRowBytes;
      for (int i = 0; i < kTileBlocks; ++i)
        bytes += source_block(p, tile, i) >= 0 ? kBlockBytes : 0;
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
  const CUresult status =
      encode_tiled()(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, x.data, size, strides, box, step,
                     CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                     CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  check(status == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue, "describing rows");
  return map;
}

ProductCut cut_of(int tiles, int steps, int processors) {
  const int units = tiles * steps;
  const int least = std::min(steps, 4);  // shorter parts cost more to put together than they save
  const int per_worker = std::max(least, (units + processors - 1) / processors);
  return {tiles, steps, per_worker, (units + per_worker - 1) / per_worker};
}

template <int N, Finish kFinish>
void run(cudaStream_t stream, const ProductParameters& parameters, Matrix x) {
  const CUtensorMap map = row_boxes(x, N);
  if (parameters.row_tiles <= kStreamTiles) {
    launch(stream, "product", product_kernel<N, kFinish, true>,
           parameters.cut.workers * parameters.row_tiles, kThreads, ProductLayout<N>::kBytes,
           parameters, map);
    return;
  }
  if constexpr (N == kTileRows) {
    launch(stream, "product", product_kernel<N, kFinish, false>,
           parameters.cut.tiles * parameters.row_tiles, kThreads, ProductLayout<N>::kBytes,
           parameters, map);
  }
}

template <int N>
void run(cudaStream_t stream, Finish finish, const ProductParameters& parameters, Matrix x) {
  switch (finish) {
    case Finish::Store:
      return run<N, Finish::Store>(stream, parameters, x);
    case Finish::Add:
      return run<N, Finish::Add>(stream, parameters, x);
    case Finish::SiluMul:
      return run<N, Finish::SiluMul>(stream, parameters, x);
    case Finish::StoreFloat:
      return run<N, Finish::StoreFloat>(stream, parameters, x);
  }
}

template <int N, Finish kFinish>
void allow_shared_memory() {
  const auto allow = [](auto kernel) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               ProductLayout<N>::kBytes),
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
  ProductParameters p{};
  p.weights = weights.blocks;
  p.weight_blocks = blocks;
  p.second_part = pairs ? blocks / 2 : 0;
  p.cut =
      cut_of((blocks + kTileBlocks - 1) / kTileBlocks, blocks_of(weights.in), device.processors);
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
