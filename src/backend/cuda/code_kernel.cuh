// The GEMM kernel for quantised weights, for up to some hundred rows: product_kernel.cuh with
// records of codes in its ring, which the consumers decode into registers. A stage is a record for
// each of two blocks of outputs and the rows of its 128 inputs; where a portion of the work begins
// or ends inside a record, the stage holds one half. Tiles, parts and the order of additions are
// those of the plain weights, and so are all bits.
//
// Decoding is a chain of short dependent operations. Two thread blocks share a multiprocessor where
// registers allow, so that one decodes while the other waits.
#pragma once

#include "backend/cuda/code_fragments.cuh"
#include "backend/cuda/code_launch.cuh"
#include "backend/cuda/launch.h"
#include "backend/cuda/product_sums.cuh"
#include "backend/cuda/wgmma_registers.cuh"

namespace counterbeam::cuda {

// How many stages of the ring fit, and the shared memory of a thread block.
template <int N>
struct CodeTile {
  using Finished = ProductTile<N, 1>;
  static constexpr int kPerProcessor = code_blocks_per_processor(N);
  static constexpr int kThreads = kConsumers + 128;
  // Of a thread: the producers give theirs to the consumers.
  static constexpr int kProducerRegisters = 40;
  static constexpr int kConsumerRegisters = kPerProcessor == 2 ? 96 : 232;
  static constexpr int kBlockRowBytes = N * kBlock * 2;
  static constexpr int kStageRowBytes = kRecordBlocks * kBlockRowBytes;
  static constexpr int kSumBytes = Finished::kSumBytes;
  static constexpr int kMemory = kPerProcessor == 2 ? 112 * 1024 : kSharedMemory;

  static int stages(const CodeWeights& codes) {
    return (kMemory - Finished::kFinishBytes) / (kStageRowBytes + 2 * codes.record_bytes() + 2 * 8);
  }
  static int stage_memory(const CodeWeights& codes) {
    const int bytes = stages(codes) * (kStageRowBytes + 2 * codes.record_bytes());
    return bytes > kSumBytes ? bytes : kSumBytes;
  }
  static int bytes(const CodeWeights& codes) {
    return 1024 + stage_memory(codes) + Finished::kFinishBytes + 2 * stages(codes) * 8;
  }
};

// A place in the ring of stages, and whether its round is odd.
struct RingPlace {
  int stages;
  int stage = 0, round = 0;
  __device__ explicit RingPlace(int count) : stages(count) {}
  __device__ __forceinline__ void next() {
    if (++stage < stages) return;
    stage = 0;
    round ^= 1;
  }
};

template <int N>
struct CodeBlock {
  using Tile = CodeTile<N>;
  std::uint8_t *rows, *records;
  Bf16* turned;
  std::uint64_t *full, *empty;
  int worker, part;

  __device__ CodeBlock(const CodeParameters& p, std::uint8_t* memory) {
    rows = reinterpret_cast<std::uint8_t*>((reinterpret_cast<std::uintptr_t>(memory) + 1023) /
                                           1024 * 1024);
    records = rows + p.stages * Tile::kStageRowBytes;
    turned = reinterpret_cast<Bf16*>(rows + p.stage_memory);
    full = reinterpret_cast<std::uint64_t*>(rows + p.stage_memory + Tile::Finished::kFinishBytes);
    empty = full + p.stages;
    const ProductWork& work = p.product.work;
    worker = int(blockIdx.x) / (work.split ? work.parts : 1);
    part = work.split ? int(blockIdx.x) % work.parts : 0;
  }
};

// Calls f(step, count) for the records of a portion: `count` of the record's blocks, from `step`
// on, belong to the same part.
template <typename F>
__device__ __forceinline__ void each_stage(const Portion& portion, int part_steps, const F& f) {
  for (int step = portion.first; step < portion.last;) {
    for (const int end = min(step + part_steps, portion.last); step < end;) {
      const int count = min(kRecordBlocks - step % kRecordBlocks, end - step);
      f(step, count);
      step += count;
    }
  }
}

// Copies the codes and scales of `count` blocks of a record. Does not wait for the preceding
// kernel: weights are constant.
template <int N>
__device__ void copy_codes(const CodeParameters& p, const CodeBlock<N>& block) {
  const ProductWork& work = p.product.work;
  const std::uint64_t policy = work.row_tiles == 1 ? kReadOnce : kKeep;
  const int record_bytes = p.codes.record_bytes(), scale_bytes = p.codes.scale_bytes();
  const int half_bytes = (record_bytes - scale_bytes) / kRecordBlocks;
  RingPlace at(p.stages);
  Portion portion;
  for (int i = 0; portion_of(work, block.worker, block.part, i, portion); ++i) {
    const std::uint8_t* records[2];
    int held = 0;
    for (int j = 0; j < 2; ++j) {
      const int source = source_block<1>(p.product, portion.tile, j);
      records[j] = p.codes.records + std::size_t(source) * p.record_columns * record_bytes;
      if (source < 0) records[j] = nullptr;
      held += source >= 0;
    }
    each_stage(portion, work.part_steps, [&](int step, int count) {
      barrier_wait(block.empty + at.stage, at.round ^ 1);
      std::uint64_t* full = block.full + at.stage;
      const int bytes = scale_bytes + count * half_bytes;
      barrier_expect(full, held * bytes);
      for (int j = 0; j < 2; ++j) {
        if (records[j] == nullptr) continue;
        std::uint8_t* to = block.records + (2 * at.stage + j) * record_bytes;
        const std::uint8_t* from =
            records[j] + std::size_t(step / kRecordBlocks) * unsigned(record_bytes);
        if (step % kRecordBlocks == 0) {
          copy_bytes(to, from, bytes, full, policy);
        } else {
          copy_bytes(to, from, scale_bytes, full, policy);
          copy_bytes(to + scale_bytes + half_bytes, from + scale_bytes + half_bytes, half_bytes,
                     full, policy);
        }
      }
      at.next();
    });
  }
  wait_for_predecessor();
  let_successor_start();  // not earlier: its weights would compete with these for bandwidth
}

template <int N>
__device__ void copy_code_rows(const CodeParameters& p, const CUtensorMap& x,
                               const CodeBlock<N>& block) {
  using Tile = CodeTile<N>;
  const ProductWork& work = p.product.work;
  RingPlace at(p.stages);
  wait_for_predecessor();
  Portion portion;
  for (int i = 0; portion_of(work, block.worker, block.part, i, portion); ++i) {
    each_stage(portion, work.part_steps, [&](int first, int count) {
      barrier_wait(block.empty + at.stage, at.round ^ 1);
      barrier_expect(block.full + at.stage, count * Tile::kBlockRowBytes);
      for (int step = first; step < first + count; ++step) {
        copy_box(block.rows + at.stage * Tile::kStageRowBytes +
                     step % kRecordBlocks * Tile::kBlockRowBytes,
                 &x, step * kBlock, portion.row_tile * N, block.full + at.stage, kKeep);
      }
      at.next();
    });
  }
}

// A consumer warpgroup: decodes one block of outputs and multiplies it. The fragments of half a
// record are decoded while the products of the half before run, so there are two sets of them; the
// words of a record are read while the products of the record before run.
template <int N, CodeRoute kRoute>
class CodeConsumer {
 public:
  __device__ CodeConsumer(const CodeParameters& p, const CodeBlock<N>& block)
      : codes_(p.codes), places_(p.codes, int(threadIdx.x % 128)), at_(p.stages) {
    const int group = __shfl_sync(~0u, threadIdx.x / 128, 0), record = p.codes.record_bytes();
    stride_ = 2 * record;
    records_ = {shared_address(block.records + group * record)};
    words_at_ = p.codes.scale_bytes() + fragment_place<kRoute>(threadIdx.x % 128, 0);
    full_ = shared_address(block.full);
    empty_ = shared_address(block.empty);
    rows_ = static_cast<std::uint32_t>(tile_descriptor(shared_address(block.rows)));
  }

  // Multiplies and accumulates steps [first, last) of one part.
  __device__ __forceinline__ void multiply_steps(float (&sum)[N / 2], int first, int last) {
    // Wherever control flow joins, products are pending on all ways or on none: otherwise the
    // compiler would have to wait for each of them.
    begin_record();
    if (first % kRecordBlocks != 0) {
      load_half(1);
      multiply_half<1>(sum);
      products_wait<0>();
      leave(end_record(++first < last));
    }
    if (first + 1 < last) {
      int before = -1;  // the stage whose second half is pending
      do {
        multiply_half<0>(sum);
        load_half(1);
        products_wait<1>();
        if (before >= 0) leave(before);
        multiply_half<1>(sum);
        first += kRecordBlocks;
        before = end_record(first < last);
        products_wait<1>();
      } while (first + 1 < last);
      products_wait<0>();
      leave(before);
    }
    if (first < last) {
      multiply_half<0>(sum);
      products_wait<0>();
      leave(end_record(false));
    }
  }

 private:
  using Tile = CodeTile<N>;
  using Code = Decoder<kRoute>;

  __device__ __forceinline__ void leave(int stage) const {
    if (threadIdx.x % 128 == 0) barrier_arrive(empty_ + 8 * stage);
  }

  // Returns the stage that was read.
  __device__ __forceinline__ int end_record(bool more) {
    const int stage = at_.stage;
    at_.next();
    if (more) begin_record();
    return stage;
  }

  __device__ __forceinline__ void begin_record() {
    barrier_wait(full_ + 8 * at_.stage, at_.round);
    record_ = records_ + at_.stage * stride_;
    stage_rows_ = rows_ + at_.stage * (Tile::kStageRowBytes >> 4);
    load_half(0);
  }

  __device__ __forceinline__ void load_half(int half) {
    if (!places_.fine) Code::read(entries_, record_ + places_.of(half, 0), codes_.offsets);
    load_words<kRoute>(words_, record_ + (words_at_ + half * block_bytes(kRoute)));
  }

  template <int kHalf>
  __device__ __forceinline__ void multiply_half(float (&sum)[N / 2]) {
    decode_half<kRoute>(words_, entries_, record_, places_, codes_, kHalf,
                        [&](const Code& code, const std::uint32_t* from, int quarter) {
                          code.decode(a_[kHalf][quarter], from);
                        });
    products_begin();
#pragma unroll
    for (int quarter = 0; quarter < 4; ++quarter) {
      const auto further = std::uint32_t(kHalf * (Tile::kBlockRowBytes >> 4)) +
                           quarter * std::uint32_t(kDescriptorStep);
      multiply<N>(sum, a_[kHalf][quarter], tile_descriptor_of(stage_rows_ + further));
    }
    products_commit();
  }

  const CodeWeights& codes_;
  EntryPlaces places_;
  RingPlace at_;
  SharedPlace records_, record_;
  std::uint32_t full_, empty_, rows_, stage_rows_;
  int stride_, words_at_;
  std::uint32_t words_[4 * Code::kWords];
  typename Code::Entries entries_;
  Fragment a_[2][4];
};

template <int N, CodeRoute kRoute, Finish kFinish>
__global__ void __launch_bounds__((CodeTile<N>::kThreads), (CodeTile<N>::kPerProcessor))
    code_kernel(const __grid_constant__ CodeParameters p, const __grid_constant__ CUtensorMap x) {
  extern __shared__ std::uint8_t memory[];
  const CodeBlock<N> block(p, memory);
  if (threadIdx.x == 0) {
    for (int s = 0; s < p.stages; ++s) {
      barrier_init(block.full + s, 2);
      barrier_init(block.empty + s, 2);
    }
    barriers_visible();
  }
  __syncthreads();
  if (threadIdx.x >= kConsumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(CodeTile<N>::kProducerRegisters));
    if (threadIdx.x == kConsumers) copy_codes<N>(p, block);
    if (threadIdx.x == kConsumers + 32) copy_code_rows<N>(p, x, block);
    return;
  }

  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CodeTile<N>::kConsumerRegisters));
  wait_for_predecessor();
  const ProductParameters& product = p.product;
  const ProductWork& work = product.work;
  CodeConsumer<N, kRoute> consumer(p, block);
  Portion portion;
  for (int i = 0; portion_of(work, block.worker, block.part, i, portion); ++i) {
    const int first_row = portion.row_tile * N;
    const bool goes_on = portion.first > 0 && !work.split;
    float4* aside = slot_of<N, 1>(product, blockIdx.x);
    float sum[1][N / 2];
    if (goes_on) {
      take_over<N, 1>(product, sum);
    } else {
      clear<N, 1>(sum);
    }
    for (int step = portion.first; step < portion.last;) {
      const int end = min(step + work.part_steps, portion.last);
      consumer.multiply_steps(sum[0], step, end);
      if (step > portion.first) add<N, 1>(sum, aside);
      if (end < portion.last) {
        set_aside<N, 1>(aside, sum);
        clear<N, 1>(sum);
      }
      step = end;
    }
    if (work.split) {
      put_together<N, 1, kFinish>(product, sum, portion.tile, first_row,
                                  reinterpret_cast<float4*>(block.rows), block.turned);
    } else if (portion.last < work.steps) {
      hand_over<N, 1>(product, sum);
    } else {
      finish_rows<N, 1, kFinish>(product, sum, portion.tile, first_row, block.turned);
    }
  }
}

}  // namespace counterbeam::cuda
