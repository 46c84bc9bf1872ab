#include <cudaTypedefs.h>

#include <algorithm>
#include <array>

#include "backend/cuda/code_launch.cuh"
#include "backend/cuda/code_packing.h"
#include "backend/cuda/product_kernel.cuh"

namespace counterbeam::cuda {
namespace {

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

// The tensor map of x in boxes of 64 inputs by `box_rows` rows; elements outside x read as zero.
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

constexpr int kMostParts = 8;       // thread blocks of a cluster
constexpr int kLeastPartSteps = 4;  // shorter parts cost more to combine than they save

constexpr int ceiling(int a, int b) {
  return (a + b - 1) / b;
}

// The number of clusters of this size that are resident on the device at once.
template <typename Tile>
int clusters_at_once(int blocks) {
  static const auto counts = [] {
    std::array<int, kMostParts + 1> held{};
    for (int n = 1; n <= kMostParts; ++n) {
      cudaLaunchAttribute cluster{};
      cluster.id = cudaLaunchAttributeClusterDimension;
      cluster.val.clusterDim = {unsigned(n), 1, 1};
      cudaLaunchConfig_t config{};
      config.gridDim = unsigned(n);
      config.blockDim = Tile::kThreads;
      config.dynamicSmemBytes = Tile::kBytes;
      config.attrs = &cluster;
      config.numAttrs = 1;
      check(cudaOccupancyMaxActiveClusters(&held[std::size_t(n)],
                                           product_kernel<Tile::kRows, Tile::kWidth, Finish::Store>,
                                           &config),
            "asking how many clusters fit");
    }
    return held;
  }();
  return counts[std::size_t(blocks)];
}

// As many parts as can run at once for two wide tiles of rows.
int parts_of(const Weights& weights) {
  const int wide_tiles = ceiling(blocks_of(weights.out), 4), steps = blocks_of(weights.in);
  int parts = std::clamp(steps / kLeastPartSteps, 1, kMostParts);
  while (parts > 1 && clusters_at_once<ProductTile<192, 2>>(parts) < 2 * wide_tiles) --parts;
  return ceiling(steps, ceiling(steps, parts));
}

// Microseconds, measured at more than 64 rows: per step, per finished tile (the reduction in a
// cluster included), per cut between parts whose sums are set aside.
struct TileCost {
  double step, finish, cut;
};
template <typename Tile>
constexpr TileCost kCost = Tile::kWidth == 1   ? TileCost{0.45, 7, 3}
                           : Tile::kRows < 192 ? TileCost{0.78, 9.5, 3}
                                               : TileCost{1.05, 12, 6};

struct PlannedWork {
  ProductWork work;
  double microseconds;
};

// `per_processor`: thread blocks that share a multiprocessor.
template <typename Tile>
PlannedWork plan(const Weights& weights, int rows, int per_processor = 1) {
  ProductWork work{};
  work.tiles = ceiling(blocks_of(weights.out), Tile::kBlocks);
  work.row_tiles = ceiling(rows, Tile::kRows);
  work.steps = blocks_of(weights.in);
  work.parts = parts_of(weights);
  work.part_steps = ceiling(work.steps, work.parts);
  const int all = work.tiles * work.row_tiles;
  constexpr TileCost cost = kCost<Tile>;
  const double whole = work.steps * cost.step + (work.parts - 1) * cost.cut + cost.finish;
  work.workers = std::min(all, per_processor * clusters_at_once<Tile>(1));
  if (work.parts == 1) {
    work.waves = std::max(0, all / work.workers - 1);
    const int left = (all - work.waves * work.workers) * work.steps;
    work.per_worker = std::max(work.steps, ceiling(left, work.workers));
    return {work, whole * all / work.workers};
  }
  work.waves = ceiling(all, work.workers);
  const double split = ceiling(all, per_processor * clusters_at_once<Tile>(work.parts)) *
                       (work.part_steps * cost.step + cost.finish);
  work.split = split < whole * work.waves;
  if (work.split) work.workers = all;
  return {work, std::min(split, whole * work.waves)};
}

template <typename Tile, Finish kFinish>
void run(cudaStream_t stream, const ProductParameters& p, Matrix x) {
  const int cluster = p.work.split ? p.work.parts : 1;
  launch_clusters(stream, "product", product_kernel<Tile::kRows, Tile::kWidth, kFinish>,
                  unsigned(cluster), unsigned(p.work.workers * cluster), Tile::kThreads,
                  Tile::kBytes, p, row_boxes(x, Tile::kRows));
}

constexpr int kNarrowRows = 128;  // up to so many, memory bandwidth is the bound

// The time of the best of the tiles for more rows.
double time_of_many(const Weights& weights, int rows) {
  return std::min({plan<ProductTile<128, 1>>(weights, rows).microseconds,
                   plan<ProductTile<128, 2>>(weights, rows).microseconds,
                   plan<ProductTile<192, 2>>(weights, rows).microseconds});
}

// Calls f with the tile for this many rows: a narrow one while memory bandwidth is the bound.
template <typename F>
void with_tile(const Weights& weights, int rows, const F& f) {
  if (rows <= 16) return f(ProductTile<16, 1>());
  if (rows <= 32) return f(ProductTile<32, 1>());
  if (rows <= 48) return f(ProductTile<48, 1>());
  if (rows <= 64) return f(ProductTile<64, 1>());
  if (rows <= kNarrowRows) return f(ProductTile<128, 1>());
  const double best = time_of_many(weights, rows);
  if (plan<ProductTile<128, 1>>(weights, rows).microseconds <= best)
    return f(ProductTile<128, 1>());
  if (plan<ProductTile<128, 2>>(weights, rows).microseconds <= best)
    return f(ProductTile<128, 2>());
  f(ProductTile<192, 2>());
}

template <typename Tile>
void allow_shared_memory() {
  const auto allow = [](auto kernel) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::kBytes),
          "asking for shared memory");
  };
  allow(product_kernel<Tile::kRows, Tile::kWidth, Finish::Store>);
  allow(product_kernel<Tile::kRows, Tile::kWidth, Finish::Add>);
  allow(product_kernel<Tile::kRows, Tile::kWidth, Finish::SiluMul>);
  allow(product_kernel<Tile::kRows, Tile::kWidth, Finish::GeluMul>);
  allow(product_kernel<Tile::kRows, Tile::kWidth, Finish::StoreFloat>);
  clusters_at_once<Tile>(1);  // queried now, since it must not be while a graph is captured
}

}  // namespace

std::size_t product_workspace(int processors) {
  return std::size_t(processors) * ProductTile<192, 2>::kSumBytes;
}

int product_flags(int processors) {
  return 2 * processors;  // of thread blocks, of which two may share a multiprocessor
}

void prepare_products() {
  allow_shared_memory<ProductTile<16, 1>>();
  allow_shared_memory<ProductTile<32, 1>>();
  allow_shared_memory<ProductTile<48, 1>>();
  allow_shared_memory<ProductTile<64, 1>>();
  allow_shared_memory<ProductTile<128, 1>>();
  allow_shared_memory<ProductTile<128, 2>>();
  allow_shared_memory<ProductTile<192, 2>>();
  prepare_code_products();
}

namespace {

void multiply_blocks(cudaStream_t stream, ProductParameters p, Finish finish, Matrix x,
                     const Weights& weights) {
  with_tile(weights, x.rows, [&](auto chosen) {
    using Tile = decltype(chosen);
    p.work = plan<Tile>(weights, x.rows).work;
    switch (finish) {
      case Finish::Store:
        return run<Tile, Finish::Store>(stream, p, x);
      case Finish::Add:
        return run<Tile, Finish::Add>(stream, p, x);
      case Finish::SiluMul:
        return run<Tile, Finish::SiluMul>(stream, p, x);
      case Finish::GeluMul:
        return run<Tile, Finish::GeluMul>(stream, p, x);
      case Finish::StoreFloat:
        return run<Tile, Finish::StoreFloat>(stream, p, x);
    }
  });
}

void multiply_codes(cudaStream_t stream, const ProductParameters& p, Finish finish, Matrix x,
                    const Weights& weights) {
  CodeParameters codes{p, weights.codes, record_columns(weights.in), 0, 0};
  const int tile = code_tile_rows(x.rows);
  const int shared = code_blocks_per_processor(tile);
  codes.product.work = tile == 16   ? plan<ProductTile<16, 1>>(weights, x.rows, shared).work
                       : tile == 48 ? plan<ProductTile<48, 1>>(weights, x.rows, shared).work
                                    : plan<ProductTile<128, 1>>(weights, x.rows, shared).work;
  run_codes(stream, tile, finish, codes, row_boxes(x, tile));
}

// Whether a quantised matrix is better decoded first, by the times of both ways.
bool is_better_decoded(const ProductDevice& device, const Weights& weights, int rows) {
  const std::size_t elements = packed_elements(weights.out, weights.in);
  if (rows <= kNarrowRows || elements > device.decoded_elements) return false;
  constexpr double kBytesPerMicrosecond = 2.5e6;
  const double bytes = double(packed_code_bytes(weights.codes, weights.out, weights.in)) +
                       double(elements) * sizeof(Bf16);
  return bytes / kBytesPerMicrosecond + time_of_many(weights, rows) <
         plan<ProductTile<128, 1>>(weights, rows).microseconds;
}

}  // namespace

void product(cudaStream_t stream, const ProductDevice& device, const ProductTarget& target,
             Matrix x, const Weights& weights) {
  const bool pairs = is_gated(target.finish);
  ProductParameters p{};
  p.weights = weights.blocks;
  p.weight_blocks = blocks_of(weights.out);
  p.second_part = pairs ? p.weight_blocks / 2 : 0;
  p.rows = x.rows;
  p.outs = pairs ? weights.out / 2 : weights.out;
  p.out = target.data;
  p.out_stride = target.stride;
  p.bias = target.bias;
  p.sums = reinterpret_cast<float4*>(device.partial_sums);
  p.flags = device.flags;
  if (weights.codes.records != nullptr) {
    if (!is_better_decoded(device, weights, x.rows))
      return multiply_codes(stream, p, target.finish, x, weights);
    decode_codes(stream, device.decoded, weights);
    p.weights = device.decoded;
    p.late_weights = true;
  }
  multiply_blocks(stream, p, target.finish, x, weights);
}

}  // namespace counterbeam::cuda
