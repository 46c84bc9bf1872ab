// Packs codes into records (code_weights.h) on the device, and decodes records: whole matrices for
// products of many rows, rows of an embedding table.
#include "backend/cuda/barrier.cuh"
#include "backend/cuda/code_fragments.cuh"
#include "backend/cuda/code_packing.h"
#include "backend/cuda/launch.h"
#include "backend/cuda/row_octets.cuh"
#include "backend/cuda/weight_blocks.cuh"

namespace counterbeam::cuda {
namespace {

constexpr int kThreads = 128;  // those of a warpgroup

// The row of a block and the input of a quarter that element e of a thread's fragment is.
__device__ __forceinline__ int fragment_row(int thread, int e) {
  return thread / 32 * 16 + thread % 32 / 4 + e / 2 % 2 * 8;
}
__device__ __forceinline__ int fragment_input(int thread, int e) {
  return thread % 4 * 2 + e % 2 + e / 4 * 8;
}

// Element e of a fragment: e / 2 is its pair. Gives the bit where its code begins in the words.
__device__ __forceinline__ int fragment_bit(bool int4, int e) {
  const int pair = e / 2, upper = e % 2;
  if (int4) return 4 * (pair + 4 * upper);
  return pair / 2 * 32 + 8 * (2 * upper + 1 - pair % 2);
}

__device__ __forceinline__ unsigned bf16_bits(float x) {
  return __bfloat16_as_ushort(__float2bfloat16_rn(x));
}

__device__ void put_entry(std::uint8_t* entry, const CodeWeights& codes, float scale,
                          float offset) {
  auto* words = reinterpret_cast<std::uint32_t*>(entry);
  auto* half = reinterpret_cast<std::uint16_t*>(entry);
  switch (codes.route) {
    case CodeRoute::Fp8Bf16:
      *half = std::uint16_t(bf16_bits(scale * 0x1p60f * 0x1p60f));
      break;
    case CodeRoute::Int8Bf16:
      *half = std::uint16_t(bf16_bits(scale * 0x1p66f * 0x1p67f));
      break;
    case CodeRoute::Int4Bf16:
      *half = std::uint16_t(bf16_bits(scale * 0x1p64f * 0x1p65f));
      break;
    case CodeRoute::Int4Half: {
      const float zero =
          (codes.centred ? 8.0f : 0.0f) + (scale == 0 ? 0.0f : rintf(-offset / scale));
      *words = __half_as_ushort(__float2half_rn(scale)) | (0x8000u | unsigned(zero) << 4) << 16;
      break;
    }
    default:
      words[0] = __float_as_uint(scale);
      if (codes.offsets) words[1] = __float_as_uint(offset);
  }
}

// One thread block per record. Outputs of other parts are left unchanged.
__global__ void pack_kernel(CodeWeights codes, int in, int first_out, int outs, CodeRows from) {
  const int out_block = first_out / kBlock + blockIdx.y, thread = threadIdx.x;
  const bool int4 = is_int4(codes.route);
  std::uint8_t* record = codes.records + (std::size_t(out_block) * gridDim.x + blockIdx.x) *
                                             std::size_t(codes.record_bytes());
  for (int i = thread; i < codes.slots * kBlock; i += kThreads) {
    const int row = i % kBlock, slot = i / kBlock;
    const int out = out_block * kBlock + row - first_out;
    if (out < 0 || out >= outs) continue;
    const int input = blockIdx.x * kRecordInputs + slot * (kRecordInputs / codes.slots);
    const int group = codes.groups == 1 ? 0 : min(input / codes.group, codes.groups - 1);
    const std::size_t at = std::size_t(out) * codes.groups + group;
    put_entry(record + (slot * kBlock + entry_of_row(row)) * codes.entry_bytes(), codes,
              from.scales[at], from.offsets == nullptr ? 0.0f : from.offsets[at]);
  }
  for (int i = 0; i < 4 * kRecordBlocks; ++i) {
    const int half = i / 4, quarter = i % 4;
    std::uint8_t* block = record + codes.scale_bytes() + half * block_bytes(codes.route);
    auto* words = reinterpret_cast<std::uint32_t*>(
        block + (int4 ? fragment_place<CodeRoute::Int4Bf16>(thread, quarter)
                      : fragment_place<CodeRoute::Int8Bf16>(thread, quarter)));
    std::uint32_t set[2] = {0, 0}, keep[2] = {~0u, ~0u};
    for (int e = 0; e < 8; ++e) {
      const int out = out_block * kBlock + fragment_row(thread, e) - first_out;
      const int input =
          blockIdx.x * kRecordInputs + half * kBlock + quarter * 16 + fragment_input(thread, e);
      if (out < 0 || out >= outs) continue;
      const int bit = fragment_bit(int4, e);
      unsigned code = input < in ? from.codes[std::size_t(out) * in + input] : 0;
      if (int4) {
        code &= 15;
      } else if (codes.route == CodeRoute::Int8Bf16 || codes.route == CodeRoute::Int8Float) {
        code ^= 0x80;
      }
      set[bit / 32] |= code << bit % 32;
      keep[bit / 32] &= ~((int4 ? 15u : 255u) << bit % 32);
    }
    words[0] = (words[0] & keep[0]) | set[0];
    if (!int4) words[1] = (words[1] & keep[1]) | set[1];
  }
}

// One thread block per record: decodes it into two blocks of plain weights.
template <CodeRoute kRoute>
__global__ void __launch_bounds__(kThreads)
    decode_kernel(Bf16* blocks, int in_blocks, CodeWeights codes, int columns) {
  __shared__ alignas(128) Bf16 image[kRecordBlocks][kBlockElements];
  let_successor_start();
  wait_for_predecessor();  // the product before may still read the blocks
  const int thread = threadIdx.x;
  const int out_block = int(blockIdx.x) / columns, column = int(blockIdx.x) % columns;
  const std::uint8_t* record = codes.records + std::size_t(blockIdx.x) * codes.record_bytes();
  const EntryPlaces places(codes, thread);
#pragma unroll
  for (int half = 0; half < kRecordBlocks; ++half) {
    std::uint32_t words[4 * Decoder<kRoute>::kWords];
    load_words<kRoute>(words, record + codes.scale_bytes() + half * block_bytes(kRoute) +
                                  fragment_place<kRoute>(thread, 0));
    typename Decoder<kRoute>::Entries coarse;
    Decoder<kRoute>::read(coarse, record + places.of(half, 0), codes.offsets);
    decode_half<kRoute>(
        words, coarse, record, places, codes, half,
        [&](const Decoder<kRoute>& scales, const std::uint32_t* from, int quarter) {
          Fragment a;
          scales.decode(a, from);
#pragma unroll
          for (int pair = 0; pair < 4; ++pair) {
            const int row = fragment_row(thread, 2 * pair);
            const int input = quarter * 16 + fragment_input(thread, 2 * pair);
            *reinterpret_cast<std::uint32_t*>(image[half] + place_in_block(row, input)) = a[pair];
          }
        });
  }
  __syncthreads();
  const int here = min(kRecordBlocks, in_blocks - kRecordBlocks * column);
  auto* to = reinterpret_cast<uint4*>(
      blocks + (std::size_t(out_block) * in_blocks + kRecordBlocks * column) * kBlockElements);
  const auto* from = reinterpret_cast<const uint4*>(image);
  constexpr int kPieces = int(kBlockElements) * 2 / 16;
  for (int i = thread; i < here * kPieces; i += kThreads) to[i] = from[i];
}

// A thread decodes the fragment that holds its element.
template <CodeRoute kRoute>
__global__ void embed_kernel(Matrix out, CodeWeights codes, float scale, const int* ids) {
  let_successor_start();
  wait_for_predecessor();
  const int id = ids[blockIdx.x], row = id % kBlock, columns = record_columns(out.width);
  for (int at = threadIdx.x; at < out.width; at += kThreads) {
    const std::uint8_t* record =
        codes.records + (std::size_t(id / kBlock) * columns + at / kRecordInputs) *
                            std::size_t(codes.record_bytes());
    const int half = at / kBlock % kRecordBlocks, quarter = at % kBlock / 16, in_quarter = at % 16;
    const int thread = row / 16 * 32 + row % 8 * 4 + in_quarter % 8 / 2;
    const int pair = in_quarter / 8 * 2 + row / 8 % 2;
    Decoder<kRoute> decoder;
    typename Decoder<kRoute>::Entries entries;
    Decoder<kRoute>::read(entries, record + EntryPlaces(codes, thread).of(half, quarter),
                          codes.offsets);
    decoder.use(entries, codes);
    Fragment a;
    decoder.decode(a, reinterpret_cast<const std::uint32_t*>(
                          record + codes.scale_bytes() + half * block_bytes(kRoute) +
                          fragment_place<kRoute>(thread, quarter)));
    const std::uint32_t both = a[pair];
    const float value = __uint_as_float(at % 2 == 0 ? both << 16 : both & 0xffff0000u);
    row_of(out, blockIdx.x)[at] = __float2bfloat16(value * scale);
  }
}

template <typename F>
void with_route(CodeRoute route, const F& f) {
  switch (route) {
    case CodeRoute::Fp8Bf16:
      return f(Decoder<CodeRoute::Fp8Bf16>());
    case CodeRoute::Fp8Float:
      return f(Decoder<CodeRoute::Fp8Float>());
    case CodeRoute::Int8Bf16:
      return f(Decoder<CodeRoute::Int8Bf16>());
    case CodeRoute::Int8Float:
      return f(Decoder<CodeRoute::Int8Float>());
    case CodeRoute::Int4Bf16:
      return f(Decoder<CodeRoute::Int4Bf16>());
    case CodeRoute::Int4Half:
      return f(Decoder<CodeRoute::Int4Half>());
    case CodeRoute::Int4Float:
      return f(Decoder<CodeRoute::Int4Float>());
  }
}

}  // namespace

void pack_codes(cudaStream_t stream, const Weights& weights, int first_out, int outs,
                const CodeRows& rows) {
  const int first = first_out / kBlock, last = (first_out + outs - 1) / kBlock;
  const dim3 grid(unsigned(record_columns(weights.in)), unsigned(last - first + 1));
  pack_kernel<<<grid, kThreads, 0, stream>>>(weights.codes, weights.in, first_out, outs, rows);
  check(cudaGetLastError(), "packing codes");
}

void decode_codes(cudaStream_t stream, Bf16* blocks, const Weights& weights) {
  const int columns = record_columns(weights.in);
  with_route(weights.codes.route, [&]<CodeRoute kRoute>(Decoder<kRoute>) {
    launch(stream, "decoding weights", decode_kernel<kRoute>,
           unsigned(blocks_of(weights.out) * columns), kThreads, 0, blocks, blocks_of(weights.in),
           weights.codes, columns);
  });
}

void embed_codes(cudaStream_t stream, Matrix out, const Weights& table, float scale,
                 const DeviceBatch& batch) {
  with_route(table.codes.route, [&]<CodeRoute kRoute>(Decoder<kRoute>) {
    launch(stream, "embed", embed_kernel<kRoute>, out.rows, kThreads, 0, out, table.codes, scale,
           batch.ids);
  });
}

}  // namespace counterbeam::cuda
