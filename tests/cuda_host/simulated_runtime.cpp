// The functions of the CUDA runtime that the back end calls (simulated_device.h).
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "backend/cuda/launch.h"
#include "cuda_host/failing_allocations.h"
#include "cuda_host/simulated_device.h"

using Work = std::function<void()>;

struct CUstream_st {
  std::deque<Work> queue;
  bool captures = false;  // then the queue does not run
};
struct CUgraph_st {
  std::vector<Work> work;
};
struct CUgraphExec_st {
  std::vector<Work> work;
};
struct CUevent_st {};

namespace {

using counterbeam::testing::UncountedAllocations;

std::mutex g_mutex;
std::map<const std::byte*, std::size_t> g_memory, g_pinned;  // allocated
std::vector<Work> g_plain_copies;
std::set<cudaStream_t> g_streams;
std::atomic<int> g_enqueued = 0;
std::atomic<int> g_calls = 0, g_first_fault = 0, g_faults = 0, g_objects = 0;
constexpr std::size_t kDeviceBytes = std::size_t{8} << 30;

// Whether this call is one of those that are to fail.
bool fails() {
  const int call = g_calls++;
  return call >= g_first_fault && call - g_first_fault < g_faults;
}

void put(cudaStream_t stream, Work work) {
  const UncountedAllocations uncounted;
  stream->queue.push_back(std::move(work));
  ++g_enqueued;
}

void run(cudaStream_t stream) {
  const UncountedAllocations uncounted;
  while (!stream->queue.empty()) {
    const Work work = std::move(stream->queue.front());
    stream->queue.pop_front();
    work();
  }
  for (const Work& copy : g_plain_copies) copy();
  g_plain_copies.clear();
}

// As freeing on a real device waits for all work.
void run_all() {
  for (const cudaStream_t stream : g_streams)
    if (!stream->captures) run(stream);
}

// Large blocks only at their beginning: tiny models use no more.
void fill_with_nan(void* data, std::size_t bytes) {
  std::memset(data, 0xff, std::min(bytes, std::size_t{1} << 20));
}

void* hand_out(std::map<const std::byte*, std::size_t>& from, std::size_t bytes) {
  const UncountedAllocations uncounted;
  constexpr std::size_t kAlignment = 512;
  void* data = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
  fill_with_nan(data, bytes);
  const std::lock_guard lock(g_mutex);
  from[static_cast<const std::byte*>(data)] = bytes;
  return data;
}
void take_back(std::map<const std::byte*, std::size_t>& to, void* data) {
  if (data == nullptr) return;
  const std::lock_guard lock(g_mutex);
  const auto found = to.find(static_cast<const std::byte*>(data));
  fill_with_nan(data, found->second);
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

// Copies to pageable memory are done when their call returns.
void finish_copies_to(const void* to, cudaMemcpyKind kind, cudaStream_t stream) {
  if (kind == cudaMemcpyDeviceToHost && !is_pinned(to)) run(stream);
}

// Pinned memory is read when the copy runs, pageable memory before the call returns.
Work copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const UncountedAllocations uncounted;
  if (kind != cudaMemcpyHostToDevice || is_pinned(from))
    return [=] { std::memcpy(to, from, bytes); };
  const auto* first = static_cast<const std::byte*>(from);
  return [to, staged = std::vector<std::byte>(first, first + bytes)] {
    std::memcpy(to, staged.data(), staged.size());
  };
}

}  // namespace

void counterbeam::testing::enqueue(cudaStream_t stream, Work work) {
  cuda::check(fails() ? cudaErrorLaunchFailure : cudaSuccess, "launching");
  put(stream, std::move(work));
}

int counterbeam::testing::enqueued() {
  return g_enqueued;
}

void counterbeam::testing::fail_device_calls(int first, int count) {
  g_calls = 0;
  g_first_fault = first;
  g_faults = count;
}

int counterbeam::testing::device_calls() {
  return g_calls;
}

int counterbeam::testing::device_objects() {
  const std::lock_guard lock(g_mutex);
  return g_objects + static_cast<int>(g_memory.size() + g_pinned.size());
}

extern "C" {

cudaError_t cudaMalloc(void** data, size_t bytes) {
  if (fails()) return cudaErrorMemoryAllocation;
  if (bytes >= kDeviceBytes) return cudaErrorMemoryAllocation;
  *data = hand_out(g_memory, bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* data) {
  run_all();
  take_back(g_memory, data);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** data, size_t bytes) {
  if (fails()) return cudaErrorMemoryAllocation;
  *data = hand_out(g_pinned, bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) {
  run_all();
  take_back(g_pinned, data);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  if (fails()) return cudaErrorUnknown;
  *free = *total = kDeviceBytes;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  if (fails()) return cudaErrorUnknown;
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  if (fails()) return cudaErrorUnknown;
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
  const UncountedAllocations uncounted;
  if (fails()) return cudaErrorMemoryAllocation;
  *stream = new CUstream_st;
  g_streams.insert(*stream);
  ++g_objects;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  run(stream);
  g_streams.erase(stream);
  delete stream;
  --g_objects;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  run(stream);
  return fails() ? cudaErrorLaunchFailure : cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  const UncountedAllocations uncounted;
  if (fails()) return cudaErrorMemoryAllocation;
  *event = new CUevent_st;
  ++g_objects;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  --g_objects;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t stream) {
  if (fails()) return cudaErrorUnknown;
  run(stream);
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  if (fails()) return cudaErrorLaunchFailure;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (fails()) return cudaErrorUnknown;
  stream->captures = true;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const UncountedAllocations uncounted;
  const std::vector<Work> work(stream->queue.begin(), stream->queue.end());
  stream->queue.clear();
  stream->captures = false;
  if (fails()) return cudaErrorStreamCaptureInvalidated;
  *graph = new CUgraph_st{work};
  ++g_objects;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* runnable, cudaGraph_t graph, unsigned long long) {
  const UncountedAllocations uncounted;
  if (fails()) return cudaErrorMemoryAllocation;
  *runnable = new CUgraphExec_st{graph->work};
  ++g_objects;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  --g_objects;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  --g_objects;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  const UncountedAllocations uncounted;
  if (fails()) return cudaErrorLaunchFailure;
  put(stream, [graph] {
    for (const Work& work : graph->work) work();
  });
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const UncountedAllocations uncounted;
  if (fails()) return cudaErrorUnknown;
  g_plain_copies.push_back(copy(to, from, bytes, kind));
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (fails()) return cudaErrorUnknown;
  put(stream, copy(to, from, bytes, kind));
  finish_copies_to(to, kind, stream);
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  const UncountedAllocations uncounted;
  if (fails()) return cudaErrorUnknown;
  for (std::size_t i = 0; i < height; ++i)
    put(stream, copy(static_cast<std::byte*>(to) + i * to_pitch,
                     static_cast<const std::byte*>(from) + i * from_pitch, width, kind));
  finish_copies_to(to, kind, stream);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  const UncountedAllocations uncounted;
  if (fails()) return cudaErrorUnknown;
  put(stream, [=] { std::memset(data, value, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemset(void* data, int value, size_t bytes) {
  const UncountedAllocations uncounted;
  if (fails()) return cudaErrorUnknown;
  g_plain_copies.push_back([=] { std::memset(data, value, bytes); });
  return cudaSuccess;
}

}  // extern "C"
