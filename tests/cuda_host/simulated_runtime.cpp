// The functions of the CUDA runtime that the back end calls (simulated_device.h).
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "cuda_host/simulated_device.h"

using Work = std::function<void()>;

struct CUstream_st {
  std::deque<Work> queue;
};
struct CUgraph_st {
  std::vector<Work> work;
};
struct CUgraphExec_st {
  std::vector<Work> work;
};
struct CUevent_st {};

namespace {

std::mutex g_mutex;
std::map<const std::byte*, std::size_t> g_memory, g_pinned;  // allocated
std::vector<Work> g_plain_copies;
std::atomic<int> g_enqueued = 0;
constexpr std::size_t kDeviceBytes = std::size_t{8} << 30;

void run(cudaStream_t stream) {
  while (!stream->queue.empty()) {
    const Work work = std::move(stream->queue.front());
    stream->queue.pop_front();
    work();
  }
  for (const Work& copy : g_plain_copies) copy();
  g_plain_copies.clear();
}

void* hand_out(std::map<const std::byte*, std::size_t>& from, std::size_t bytes) {
  constexpr std::size_t kAlignment = 512;
  void* data = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
  std::memset(data, 0xff, bytes);
  const std::lock_guard lock(g_mutex);
  from[static_cast<const std::byte*>(data)] = bytes;
  return data;
}
void take_back(std::map<const std::byte*, std::size_t>& to, void* data) {
  if (data == nullptr) return;
  const std::lock_guard lock(g_mutex);
  const auto found = to.find(static_cast<const std::byte*>(data));
  std::memset(data, 0xff, found->second);
  to.erase(found);
  std::free(data);
}

bool is_pinned(const void* data) {
  const auto* at = static_cast<const std::byte*>(data);
  const std::lock_guard lock(g_mutex);
  auto after = g_pinned.upper_bound(at);
  if (after == g_pinned.begin()) return false;
  --after;
  return at < after->first + after->second;
}

// Pinned memory is read when the copy runs, pageable memory before the call returns.
Work copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (kind != cudaMemcpyHostToDevice || is_pinned(from))
    return [=] { std::memcpy(to, from, bytes); };
  const auto* first = static_cast<const std::byte*>(from);
  return [to, staged = std::vector<std::byte>(first, first + bytes)] {
    std::memcpy(to, staged.data(), staged.size());
  };
}

}  // namespace

void counterbeam::testing::enqueue(cudaStream_t stream, Work work) {
  stream->queue.push_back(std::move(work));
  ++g_enqueued;
}

int counterbeam::testing::enqueued() {
  return g_enqueued;
}

extern "C" {

cudaError_t cudaMalloc(void** data, size_t bytes) {
  if (bytes >= kDeviceBytes) return cudaErrorMemoryAllocation;
  *data = hand_out(g_memory, bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* data) {
  take_back(g_memory, data);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** data, size_t bytes) {
  *data = hand_out(g_pinned, bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) {
  take_back(g_pinned, data);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = *total = kDeviceBytes;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "simulated");
  properties->major = 9;
  properties->multiProcessorCount = 4;
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t) {
  return "no such error";
}
cudaError_t cudaGetLastError() {
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  run(stream);
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  run(stream);
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t stream) {
  run(stream);
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = new CUgraph_st{{stream->queue.begin(), stream->queue.end()}};
  stream->queue.clear();
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* runnable, cudaGraph_t graph, unsigned long long) {
  *runnable = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  counterbeam::testing::enqueue(stream, [graph] {
    for (const Work& work : graph->work) work();
  });
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  g_plain_copies.push_back(copy(to, from, bytes, kind));
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  counterbeam::testing::enqueue(stream, copy(to, from, bytes, kind));
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  for (std::size_t i = 0; i < height; ++i)
    cudaMemcpyAsync(static_cast<std::byte*>(to) + i * to_pitch,
                    static_cast<const std::byte*>(from) + i * from_pitch, width, kind, stream);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  counterbeam::testing::enqueue(stream, [=] { std::memset(data, value, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemset(void* data, int value, size_t bytes) {
  g_plain_copies.push_back([=] { std::memset(data, value, bytes); });
  return cudaSuccess;
}

}  // extern "C"
