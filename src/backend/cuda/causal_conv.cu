// The causal depthwise convolution before a recurrent layer, then silu. A thread owns a few
// channels and slides over a run of rows. Inputs from before the segment are kept in its state, as
// float32 copies of bf16 numbers, so that how a sequence is split changes no bit.
//
// Only the block of a segment's first rows reads and advances the kept inputs; therefore a run is
// never shorter than the number of kept inputs.
#include <cstdint>

#include "backend/cuda/delta_net.cuh"

namespace counterbeam::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kRun = 32;              // rows per block
constexpr unsigned kFewBlocks = 528;  // four per multiprocessor of an H200

struct ConvArguments {
  Bf16* out;
  const Bf16* x;
  int out_stride, x_stride, channels, taps, run;
  const float* weight;  // [channels][taps]
  float* kept;          // of slot 0 in this layer, [taps - 1][channels]
  std::size_t slot_floats;
  const DeviceSegment* segments;
};

__device__ __forceinline__ float silu(float x) {
  return __fdividef(x, 1.0f + __expf(-x));
}

// Slides over rows [first, last) of a segment; `in` and `out` point to its row 0. kAhead rows are
// loaded ahead of use. `window` holds the kTaps - 1 inputs before `first`, oldest first.
template <int kTaps, int kChannels, int kAhead>
__device__ __forceinline__ void slide(const ConvArguments& a, const Bf16* in, Bf16* out, int first,
                                      int last, float (&window)[kTaps][kChannels],
                                      const float (&weight)[kChannels][kTaps]) {
  for (int from = first; from < last; from += kAhead) {
    Pack<Bf16, kChannels> ahead[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (from + i < last)
        ahead[i] = load_pack<kChannels>(in + (from + i) * std::ptrdiff_t(a.x_stride));
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (from + i >= last) break;
      Pack<Bf16, kChannels> result;
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
        window[kTaps - 1][c] = __bfloat162float(ahead[i].at[c]);
        float sum = 0;
#pragma unroll
        for (int t = 0; t < kTaps; ++t) sum = fmaf(weight[c][t], window[t][c], sum);
        result.at[c] = __float2bfloat16_rn(silu(sum));
#pragma unroll
        for (int t = 0; t < kTaps - 1; ++t) window[t][c] = window[t + 1][c];
      }
      store_pack(out + (from + i) * std::ptrdiff_t(a.out_stride), result);
    }
  }
}

// Grid: [channels, runs of rows, segments]. The kept inputs and the batch are read while preceding
// kernels still run.
template <int kTaps, int kChannels, int kAhead>
__global__ void __launch_bounds__(kThreads) slide_channels(const ConvArguments a) {
  let_successor_start();
  const int channel = int(blockIdx.x * kThreads + threadIdx.x) * kChannels;
  if (channel >= a.channels) return;
  float weight[kChannels][kTaps];
#pragma unroll
  for (int c = 0; c < kChannels; ++c) {
    const auto taps = load_pack<kTaps>(a.weight + (channel + c) * kTaps);
#pragma unroll
    for (int t = 0; t < kTaps; ++t) weight[c][t] = taps.at[t];
  }
  const DeviceSegment segment = a.segments[blockIdx.z];
  const int first = blockIdx.y * a.run, last = min(first + a.run, segment.rows);
  const Bf16* in = a.x + std::ptrdiff_t(segment.first_row) * a.x_stride + channel;
  Bf16* out = a.out + std::ptrdiff_t(segment.first_row) * a.out_stride + channel;
  float* kept = a.kept + std::size_t(segment.state) * a.slot_floats + channel;
  const auto kept_input = [&](int t) { return kept + t * std::ptrdiff_t(a.channels); };
  const auto input = [&](int row) {
    Pack<float, kChannels> floats;
    const auto pack = load_pack<kChannels>(in + row * std::ptrdiff_t(a.x_stride));
#pragma unroll
    for (int c = 0; c < kChannels; ++c) floats.at[c] = __bfloat162float(pack.at[c]);
    return floats;
  };

  Pack<float, kChannels> before[kTaps - 1] = {};
  if (first == 0 && last > 0) {
#pragma unroll
    for (int t = 0; t < kTaps - 1; ++t) before[t] = load_pack<kChannels>(kept_input(t));
  }
  wait_for_predecessor();
  if (first >= last) return;
  float window[kTaps][kChannels];
#pragma unroll
  for (int t = 0; t < kTaps - 1; ++t) {
    if (first > 0) before[t] = input(first - (kTaps - 1) + t);
#pragma unroll
    for (int c = 0; c < kChannels; ++c) window[t][c] = before[t].at[c];
  }
  slide<kTaps, kChannels, kAhead>(a, in, out, first, last, window, weight);
  if (first > 0) return;
#pragma unroll
  for (int t = 0; t < kTaps - 1; ++t) {
    Pack<float, kChannels> floats;
#pragma unroll
    for (int c = 0; c < kChannels; ++c) floats.at[c] = window[t][c];
    if (last < segment.rows) floats = input(segment.rows - (kTaps - 1) + t);
    store_pack(kept_input(t), floats);
  }
}

// Any number of taps, any alignment: one channel per thread, inputs are read as needed.
__global__ void __launch_bounds__(kThreads) convolve_channels(const ConvArguments a) {
  let_successor_start();
  wait_for_predecessor();
  const int channel = int(blockIdx.x * kThreads + threadIdx.x);
  const DeviceSegment segment = a.segments[blockIdx.z];
  const int first = blockIdx.y * a.run, last = min(first + a.run, segment.rows);
  if (channel >= a.channels || first >= last) return;
  const Bf16* in = a.x + std::ptrdiff_t(segment.first_row) * a.x_stride + channel;
  Bf16* out = a.out + std::ptrdiff_t(segment.first_row) * a.out_stride + channel;
  float* kept = a.kept + std::size_t(segment.state) * a.slot_floats + channel;
  const int before = a.taps - 1;
  const auto input = [&](int row) {
    return row < 0 ? kept[(before + row) * std::ptrdiff_t(a.channels)]
                   : __bfloat162float(in[row * std::ptrdiff_t(a.x_stride)]);
  };
  for (int row = first; row < last; ++row) {
    float sum = 0;
    for (int t = 0; t < a.taps; ++t)
      sum = fmaf(a.weight[channel * a.taps + t], input(row - before + t), sum);
    out[row * std::ptrdiff_t(a.out_stride)] = __float2bfloat16_rn(silu(sum));
  }
  if (first > 0) return;
  for (int t = 0; t < before; ++t)
    kept[t * std::ptrdiff_t(a.channels)] = input(segment.rows - before + t);
}

bool aligned(Matrix m, int channels) {
  return reinterpret_cast<std::uintptr_t>(m.data) % (2 * std::size_t(channels)) == 0 &&
         m.stride % channels == 0;
}

}  // namespace

void causal_conv(cudaStream_t stream, Matrix out, Matrix x, const float* weight,
                 const StateView& states, int layer, const DeviceBatch& batch) {
  if (batch.segment_count == 0 || batch.longest_segment == 0) return;
  const StateShape& shape = states.shape;
  const int channels = shape.conv_channels(), taps = shape.conv_width;
  const int run = taps - 1 <= kRun ? kRun : batch.longest_segment;
  const std::size_t layer_floats = states.conv_floats() + states.memory_floats();
  const ConvArguments arguments{static_cast<Bf16*>(out.data),
                                static_cast<const Bf16*>(x.data),
                                out.stride,
                                x.stride,
                                channels,
                                taps,
                                run,
                                weight,
                                states.slots + std::size_t(layer) * layer_floats,
                                states.slot_floats(),
                                batch.segments};
  const unsigned runs = unsigned((batch.longest_segment + run - 1) / run);
  const auto grid = [&](int per_thread) {
    const int per_block = kThreads * per_thread;
    return dim3(unsigned((channels + per_block - 1) / per_block), runs,
                unsigned(batch.segment_count));
  };
  constexpr int kTogether = 4;
  const bool even = channels % kTogether == 0 && layer_floats % kTogether == 0 &&
                    aligned(out, kTogether) && aligned(x, kTogether);
  if (taps == 4 && even && reinterpret_cast<std::uintptr_t>(weight) % 16 == 0) {
    // With few blocks, each must keep more loads in flight.
    const dim3 blocks = grid(kTogether);
    const bool few = blocks.x * blocks.y * blocks.z <= kFewBlocks && batch.longest_segment > 8;
    launch(stream, "causal_conv",
           few ? slide_channels<4, kTogether, 16> : slide_channels<4, kTogether, 8>, blocks,
           dim3(kThreads), 0, arguments);
  } else {
    launch(stream, "causal_conv", convolve_channels, grid(1), dim3(kThreads), 0, arguments);
  }
}

}  // namespace counterbeam::cuda
