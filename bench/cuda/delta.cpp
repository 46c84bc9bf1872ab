// Times the recurrent layers and the head on the device against its bandwidth. The recurrent layers
// run as a CUDA graph over all layers of the Qwen3.5 shapes, each with its own states so that they
// do not stay in the L2 cache; the head reads logits that were just written, as in a step.
//   bench_cuda_delta [part of a line's name]
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "backend/cuda/device_memory.h"
#include "backend/cuda/head_job.h"
#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"

namespace counterbeam::cuda {
namespace {

constexpr double kBytesPerSecond = 4.2e12;  // memory read bandwidth measured on an H200
constexpr StateShape kShape{18, 16, 16, 128, 128, 4};

template <typename T>
DeviceMemory upload(const std::vector<T>& values) {
  DeviceMemory memory(values.size() * sizeof(T), "inputs");
  check(cudaMemcpy(memory.data(), values.data(), memory.bytes(), cudaMemcpyHostToDevice), "upload");
  return memory;
}

template <typename T, typename Make>
DeviceMemory random(std::size_t count, const Make& make) {
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  std::vector<T> values(count);
  constexpr std::size_t kFresh = 1000003;
  for (std::size_t i = 0; i < count; ++i)
    values[i] = i < kFresh ? make(normal(engine)) : values[i - kFresh];
  return upload(values);
}

DeviceMemory random_bf16(std::size_t count) {
  return random<Bf16>(count, [](float x) { return __float2bfloat16(x); });
}

// Median time in microseconds of a replay of the work that `work` captures.
double replay(const std::function<void(cudaStream_t)>& work) {
  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  work(stream);
  cudaGraph_t graph;
  cudaGraphExec_t steps;
  check(cudaStreamEndCapture(stream, &graph), "capture");
  check(cudaGraphInstantiate(&steps, graph, 0), "graph");
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start), "event");
  check(cudaEventCreate(&stop), "event");
  std::vector<double> times;
  for (int i = 0; i < 13; ++i) {
    check(cudaEventRecord(start, stream), "event");
    check(cudaGraphLaunch(steps, stream), "graph");
    check(cudaEventRecord(stop, stream), "event");
    check(cudaEventSynchronize(stop), "running");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start, stop), "event");
    if (i >= 3) times.push_back(1e3 * double(milliseconds));
  }
  std::nth_element(times.begin(), times.begin() + 5, times.end());
  return times[5];
}

class Lines {
 public:
  explicit Lines(std::string wanted) : wanted_(std::move(wanted)) {}
  // `work` has `count` launches, each of which moves at least `bytes`.
  void time(const std::string& name, int count, double bytes,
            const std::function<void(cudaStream_t)>& work) const {
    if (name.find(wanted_) == std::string::npos) return;
    const double each = replay(work) / count;
    fmt::print("{:<44} {:>9.2f} us {:>8.1f} MB {:>6.1f} %\n", name, each, bytes / 1e6,
               100 * bytes / (each * 1e-6 * kBytesPerSecond));
  }

 private:
  std::string wanted_;
};

// `segments` sequences of `rows` rows each through every recurrent layer.
void time_layers(const Lines& lines, int segments, int rows) {
  const int all = segments * rows, channels = kShape.conv_channels(), heads = kShape.value_heads;
  const int values = heads * kShape.value_dim, width = channels + values + 2 * heads;
  StateView states{nullptr, kShape};
  const DeviceMemory slots(std::size_t(segments) * states.slot_floats() * 4, "states");
  check(cudaMemset(slots.data(), 0, slots.bytes()), "clearing");
  states.slots = slots.as<float>();
  const DeviceMemory in = random_bf16(std::size_t(all) * std::size_t(width)),
                     convolved(std::size_t(all) * std::size_t(channels) * 2, "outputs"),
                     out(std::size_t(all) * std::size_t(values) * 2, "outputs");
  const auto a_float = [](float x) { return x; };
  const DeviceMemory weight = random<float>(std::size_t(channels * kShape.conv_width), a_float),
                     gates = random<float>(std::size_t(2 * heads + kShape.value_dim), a_float);
  std::vector<DeviceSegment> list;
  for (int s = 0; s < segments; ++s) list.push_back({s * rows, rows, 0, 0, s});
  const DeviceMemory on_device = upload(list);
  DeviceBatch batch{};
  batch.segments = on_device.as<DeviceSegment>();
  batch.rows = all;
  batch.segment_count = segments;
  batch.longest_segment = rows;
  const Matrix fused{in.data(), all, width, width};
  const Matrix qkv{convolved.data(), all, channels, channels},
      result{out.data(), all, values, values};
  const DeltaInputs inputs{qkv, fused.columns(channels + values, heads, 2),
                           fused.columns(channels + values + heads, heads, 2), gates.as<float>(),
                           gates.as<float>() + heads};
  const auto conv = [&](cudaStream_t stream, int layer) {
    causal_conv(stream, qkv, fused.columns(0, channels, 2), weight.as<float>(), states, layer,
                batch);
  };
  const auto delta = [&](cudaStream_t stream, int layer) {
    delta_net(stream, result, inputs, states, layer, batch);
  };
  const Matrix gate = fused.columns(channels, values, 2);
  const std::string what = fmt::format("{} x {} rows", segments, rows);
  const double conv_bytes =
      double(segments) * double(states.conv_floats()) * 8 + double(all) * channels * 4;
  const double delta_bytes =
      double(segments) * double(states.memory_floats()) * 8 + double(all) * (channels + values) * 2;
  const auto each_layer = [&](const std::function<void(cudaStream_t, int)>& work) {
    return [work](cudaStream_t stream) {
      for (int layer = 0; layer < kShape.layers; ++layer) work(stream, layer);
    };
  };
  lines.time("convolution, " + what, kShape.layers, conv_bytes, each_layer(conv));
  lines.time("delta rule, " + what, kShape.layers, delta_bytes, each_layer(delta));
  const double norm_bytes = double(all) * values * 2;
  lines.time("all, with norm, " + what, kShape.layers, conv_bytes + delta_bytes + norm_bytes,
             each_layer([&](cudaStream_t stream, int layer) {
               conv(stream, layer);
               gated_delta_net(stream, result, inputs, gate, gates.as<float>(), 1e-6f, states,
                               layer, batch);
             }));
}

// `count` draws, one per row.
void time_head(const Lines& lines, const std::string& name, int count, int vocab, DeviceJob job,
               int mixes) {
  HeadKind kind;
  kind.filtered = filters(job.sampling, vocab);
  kind.mixed = mixes > 0;
  const DeviceMemory logits =
      random<float>(std::size_t(count) * std::size_t(vocab), [](float x) { return 3 * x; });
  std::vector<DeviceJob> jobs;
  std::vector<DeviceMix> mixed;
  for (int i = 0; i < count; ++i) {
    jobs.push_back(job);
    jobs.back().row = i;
    jobs.back().uniform = (i + 0.5) / count;
    jobs.back().first_mix = static_cast<int>(mixed.size());
    jobs.back().mixes = mixes;
    for (int m = 0; m < mixes; ++m) mixed.push_back({(i + m) % count, m == 0 ? 1.25f : -0.25f});
  }
  mixed.push_back({});
  const DeviceMemory in = upload(jobs), in_mixes = upload(mixed),
                     out(jobs.size() * sizeof(DeviceResult), "results"),
                     workspace(head_workspace(count, count, vocab, kind), "workspace");
  constexpr int kLaunches = 20;
  lines.time(fmt::format("head, {} x {}, {}", count, vocab, name), kLaunches,
             double(count) * vocab * 4, [&](cudaStream_t stream) {
               for (int i = 0; i < kLaunches; ++i)
                 head_jobs(stream, logits.as<float>(), count, vocab, vocab, in.as<DeviceJob>(),
                           count, in_mixes.as<DeviceMix>(), kind, out.as<DeviceResult>(),
                           workspace.data());
             });
}

void run(const Lines& lines) {
  fmt::print("{:<44} {:>12} {:>11} {:>8}\n", "", "a launch", "at least", "of 4.2 TB/s");
  for (const auto& [segments, rows] : {std::pair(1, 1), std::pair(16, 1), std::pair(48, 1),
                                       std::pair(32, 32), std::pair(1, 1024), std::pair(8, 1024)})
    time_layers(lines, segments, rows);
  const auto with = [](const Sampling& sampling) {
    HeadJob job;
    job.sampling = sampling;
    job.plausibility = 0.1f;
    return device_job(job, 0, 0);
  };
  const DeviceJob plain = with({});
  for (const int count : {1, 16, 48}) {
    time_head(lines, "plain", count, 152064, plain, 0);
    time_head(lines, "temperature", count, 152064, with({.temperature = 0.7f}), 0);
    time_head(lines, "greedy", count, 152064, with({.temperature = 0}), 0);
    time_head(lines, "top-k 20", count, 152064, with({.top_k = 20}), 0);
    time_head(lines, "top-p 0.95", count, 152064, with({.top_p = 0.95f}), 0);
    time_head(lines, "top-k 50, top-p 0.9", count, 152064, with({.top_p = 0.9f, .top_k = 50}), 0);
    time_head(lines, "min-p 0.05", count, 152064, with({.min_p = 0.05f}), 0);
    time_head(lines, "min-p 0.05, top-p 0.9", count, 152064, with({.top_p = 0.9f, .min_p = 0.05f}),
              0);
    time_head(lines, "two rows mixed", count, 152064, plain, 2);
  }
  time_head(lines, "plain", 48, 248320, plain, 0);
}

}  // namespace
}  // namespace counterbeam::cuda

int main(int argc, char** argv) {
  counterbeam::cuda::run(counterbeam::cuda::Lines(argc > 1 ? argv[1] : ""));
}
