// Times attention, RoPE and KV-cache writes on the device against its bandwidth: a CUDA graph over
// many layers, as in a step of a model, each with its own keys and values so that they do not stay
// in the L2 cache.
//   bench_cuda_attention [part of a line's name]
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"
#include "backend/cuda/tile_sharing.h"

namespace counterbeam {
namespace {

constexpr double kBytesPerSecond = 4.2e12;  // memory read bandwidth measured on an H200
constexpr double kPoolBytes = 2e9;

struct Heads {
  const char* model;
  int heads, kv_heads, width;
};
constexpr Heads kQwen7{"28/4x128", 28, 4, 128}, kDeepseek{"32/32x128", 32, 32, 128},
    kQwen35{"8/2x256", 8, 2, 256}, kQwen05{"14/2x64", 14, 2, 64};

struct Case {
  Heads heads;
  int segments, rows, position;  // rows per segment, and the position of the first row
  int sharing = 1;               // segments that share all complete tiles
  int context() const { return position + rows; }
};
constexpr Case kCases[] = {
    {kQwen7, 16, 1, 255},      {kQwen7, 16, 1, 319},        {kQwen7, 16, 1, 1023},
    {kQwen7, 48, 1, 255},      {kQwen7, 48, 1, 1023},       {kQwen7, 128, 1, 1023},
    {kQwen7, 16, 1, 1040, 4},  {kQwen7, 48, 1, 1040, 4},    {kQwen7, 128, 1, 1040, 4},
    {kQwen7, 384, 1, 1040, 4}, {kDeepseek, 16, 1, 1040, 4}, {kDeepseek, 48, 1, 1040, 4},
    {kQwen35, 48, 1, 1040, 4}, {kQwen7, 1, 1, 1023},        {kQwen7, 4, 1, 8191},
    {kDeepseek, 16, 1, 255},   {kDeepseek, 16, 1, 1023},    {kDeepseek, 48, 1, 1023},
    {kQwen35, 16, 1, 255},     {kQwen35, 16, 1, 1023},      {kQwen35, 48, 1, 1023},
    {kQwen05, 16, 1, 1023},    {kQwen7, 16, 4, 1020},       {kQwen7, 32, 32, 992},
    {kDeepseek, 32, 32, 992},  {kQwen35, 32, 32, 992},      {kQwen7, 8, 1024, 0},
    {kDeepseek, 8, 1024, 0},   {kQwen35, 8, 1024, 0},       {kQwen05, 8, 1024, 0},
    {kQwen7, 1, 8192, 0},
};

template <typename T>
T* upload(const std::vector<T>& values) {
  T* data = nullptr;
  cuda::check(cudaMalloc(reinterpret_cast<void**>(&data), values.size() * sizeof(T)), "allocating");
  cuda::check(cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
              "upload");
  return data;
}

// Fills with random numbers that repeat after some megabytes.
cuda::Bf16* random_numbers(std::size_t count) {
  std::mt19937 random(1);
  std::vector<std::uint16_t> some(std::min<std::size_t>(count, 1 << 21));
  for (auto& bits : some) bits = std::uint16_t((random() & 0x807f) | ((120 + random() % 8) << 7));
  cuda::Bf16* data = nullptr;
  cuda::check(cudaMalloc(reinterpret_cast<void**>(&data), count * 2), "allocating");
  cuda::check(cudaMemcpy(data, some.data(), some.size() * 2, cudaMemcpyHostToDevice), "upload");
  for (std::size_t done = some.size(); done < count; done *= 2) {
    const std::size_t bytes = std::min(done, count - done) * 2;
    cuda::check(cudaMemcpy(data + done, data, bytes, cudaMemcpyDeviceToDevice), "filling");
  }
  return data;
}

// Median time in microseconds of a replay of the work that `work` captures.
double replay(const std::function<void(cudaStream_t)>& work) {
  cudaStream_t stream;
  cuda::check(cudaStreamCreate(&stream), "stream");
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  work(stream);
  cuda::check(cudaStreamEndCapture(stream, &graph), "capture");
  cuda::check(cudaGraphInstantiate(&exec, graph, 0), "graph");
  cudaEvent_t begin, end;
  cuda::check(cudaEventCreate(&begin), "event");
  cuda::check(cudaEventCreate(&end), "event");
  std::vector<float> times;
  for (int i = 0; i < 13; ++i) {
    cuda::check(cudaEventRecord(begin, stream), "event");
    cuda::check(cudaGraphLaunch(exec, stream), "graph");
    cuda::check(cudaEventRecord(end, stream), "event");
    cuda::check(cudaStreamSynchronize(stream), "running");
    float ms = 0;
    cuda::check(cudaEventElapsedTime(&ms, begin, end), "event");
    if (i >= 3) times.push_back(ms * 1e3f);
  }
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaStreamDestroy(stream);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// The batch of a case, on the device.
struct Rows {
  explicit Rows(const Case& of) : pages_each((of.context() + kPageTokens - 1) / kPageTokens) {
    std::vector<int> ids, segment, position, pages, numbers(std::size_t(of.segments * pages_each));
    std::vector<cuda::DeviceSegment> segments;
    std::vector<cuda::SharedTile> tiles;
    std::iota(numbers.begin(), numbers.end(), 0);
    std::shuffle(numbers.begin(), numbers.end(), std::mt19937(2));
    const int settled = of.position / cuda::kTileKeys * cuda::kTilePages;
    for (int s = 0; s < of.segments; ++s) {
      segments.push_back({int(ids.size()), of.rows, of.position, s * pages_each, 0});
      for (int i = 0; i < pages_each; ++i) {
        const int from = i < settled ? s / of.sharing * of.sharing : s;
        pages.push_back(numbers[std::size_t(from * pages_each + i)]);
      }
      for (int r = 0; r < of.rows; ++r) {
        ids.push_back(0);
        segment.push_back(s);
        position.push_back(of.position + r);
      }
    }
    const bool few = cuda::tiles_are_shared(int(ids.size()), of.rows, of.context());
    if (few) cuda::share_tiles(segments, pages.data(), tiles);
    batch = {upload(ids),     upload(segment), upload(position), upload(segments), upload(pages),
             int(ids.size()), of.segments,     of.rows,          of.context()};
    batch.tile_count = upload(std::vector<int>{int(tiles.size())});
    tiles.resize(ids.size() * std::size_t(of.context() / cuda::kTileKeys + 1));
    batch.tiles = few ? upload(tiles) : nullptr;
  }
  ~Rows() {
    for (const void* data :
         {static_cast<const void*>(batch.ids), static_cast<const void*>(batch.row_segment),
          static_cast<const void*>(batch.row_position), static_cast<const void*>(batch.segments),
          static_cast<const void*>(batch.pages), static_cast<const void*>(batch.tiles),
          static_cast<const void*>(batch.tile_count)})
      cudaFree(const_cast<void*>(data));
  }
  int pages_each;
  cuda::DeviceBatch batch{};
};

void run(const Case& of, const std::string& only) {
  const auto [model, heads, kv_heads, width] = of.heads;
  const std::string name =
      fmt::format("{} {} x {} rows, context {}{}", model, of.segments, of.rows, of.context(),
                  of.sharing > 1 ? fmt::format(", {} share", of.sharing) : "");
  if (name.find(only) == std::string::npos) return;
  const Rows rows(of);
  const int pages = of.segments * rows.pages_each;
  const double page_bytes = 2.0 * kv_heads * kPageTokens * width * 2;
  const int layers = std::clamp(int(kPoolBytes / (page_bytes * pages)), 1, 28);
  const std::size_t kv_elements =
      std::size_t(page_bytes / 4) * std::size_t(pages) * std::size_t(layers);
  const int q_width = heads * width, kv_width = kv_heads * width, all = q_width + 2 * kv_width;
  cuda::Bf16* keys = random_numbers(kv_elements);
  cuda::Bf16* values = random_numbers(kv_elements);
  cuda::Bf16* qkv = random_numbers(std::size_t(rows.batch.rows) * std::size_t(all));
  cuda::Bf16* out = random_numbers(std::size_t(rows.batch.rows) * std::size_t(q_width));
  float* inverse = upload(std::vector<float>(std::size_t(width / 2), 0.1f));
  void* workspace = nullptr;
  cuda::check(cudaMalloc(&workspace, 16 + cuda::attention_workspace(rows.batch.rows, heads, width,
                                                                    of.context())),
              "allocating");
  const cuda::KvView kv{keys, values, {layers, kv_heads, width}, pages};
  const Matrix fused{qkv, rows.batch.rows, all, all};
  const Matrix result{out, rows.batch.rows, q_width, q_width};
  const double attention = replay([&](cudaStream_t stream) {
    for (int layer = 0; layer < layers; ++layer)
      cuda::attention(stream, result, fused.columns(0, q_width, 2), kv, layer, heads, 0.088f, 0,
                      rows.batch, workspace);
  });
  const double storing = replay([&](cudaStream_t stream) {
    for (int layer = 0; layer < layers; ++layer)
      cuda::rope_and_store(stream, fused.columns(0, q_width, 2),
                           fused.columns(q_width, kv_width, 2),
                           fused.columns(q_width + kv_width, kv_width, 2), heads,
                           {inverse, width / 2, 1.0f}, kv, layer, rows.batch);
  });
  double seen = 0;  // keys, over all rows of a segment
  for (int r = 0; r < of.rows; ++r) seen += of.position + r + 1;
  const double us = attention / layers, flops = 4.0 * of.segments * seen * q_width;
  const double bytes = 2.0 * of.segments * of.context() / of.sharing * kv_width * 2 +
                       2.0 * rows.batch.rows * q_width * 2;
  fmt::print(
      "{:<54}{:>9.2f} us {:>8.2f} MB {:>4.0f} % of 4.2 TB/s {:>6.0f} TFLOP/s{:>9.2f} us stored\n",
      name, us, bytes / 1e6, 100 * bytes / (us * 1e-6) / kBytesPerSecond, flops / us / 1e6,
      storing / layers);
  for (void* data : {static_cast<void*>(keys), static_cast<void*>(values), static_cast<void*>(qkv),
                     static_cast<void*>(out), static_cast<void*>(inverse), workspace})
    cudaFree(data);
}

}  // namespace
}  // namespace counterbeam

int main(int argc, char** argv) {
  try {
    for (const auto& of : counterbeam::kCases) counterbeam::run(of, argc > 1 ? argv[1] : "");
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
