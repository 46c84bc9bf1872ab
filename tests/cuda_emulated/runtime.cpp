// The functions of the CUDA runtime and driver that the kernels and their tests call. Launches are
// complete when they return. Behind every allocation lies a page that cannot be touched.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <stdexcept>

#include "cuda_emulated/copies.h"
#include "cuda_emulated/device_code.h"

namespace {

using namespace counterbeam::emulated;

struct Allocation {
  std::size_t bytes;
  std::byte* pages;
  std::size_t page_bytes;
};
std::map<const std::byte*, Allocation> g_allocations;
std::map<const void*, int> g_shared_bytes;  // that kernels may have
constexpr std::size_t kPage = 4096, kAlignment = 256, kMemory = std::size_t{8} << 30;

cudaError_t allocate(void** data, std::size_t bytes) {
  const std::size_t aligned = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const std::size_t whole = (aligned + kPage - 1) / kPage * kPage;
  void* pages =
      mmap(nullptr, whole + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return cudaErrorMemoryAllocation;
  auto* first = static_cast<std::byte*>(pages);
  mprotect(first + whole, kPage, PROT_NONE);
  *data = first + whole - aligned;
  g_allocations[first + whole - aligned] = {bytes, first, whole + kPage};
  return cudaSuccess;
}
cudaError_t release(void* data) {
  const auto found = g_allocations.find(static_cast<std::byte*>(data));
  if (found == g_allocations.end()) return cudaErrorInvalidValue;
  munmap(found->second.pages, found->second.page_bytes);
  g_allocations.erase(found);
  return cudaSuccess;
}

// The only kind of tensor map that is emulated. The others are refused.
CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* data,
                      const cuuint64_t* size, const cuuint64_t* strides, const cuuint32_t* box,
                      const cuuint32_t* step, CUtensorMapInterleave interleave,
                      CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                      CUtensorMapFloatOOBfill fill) {
  const bool known = type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 && rank == 2 && box[0] == 64 &&
                     step[0] == 1 && step[1] == 1 && swizzle == CU_TENSOR_MAP_SWIZZLE_128B &&
                     interleave == CU_TENSOR_MAP_INTERLEAVE_NONE &&
                     fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  const bool valid = box[1] >= 1 && box[1] <= 256 && size[0] > 0 && size[1] > 0 &&
                     strides[0] % 16 == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
  const std::size_t bytes = (size[1] - 1) * strides[0] + 2 * size[0];
  if (!known || !valid || !is_allocated(data, bytes)) return CUDA_ERROR_INVALID_VALUE;
  const BoxMap made{static_cast<std::byte*>(data), std::int64_t(size[0]), std::int64_t(size[1]),
                    std::int64_t(strides[0]), int(box[1])};
  std::memcpy(map, &made, sizeof(made));
  return CUDA_SUCCESS;
}

}  // namespace

bool counterbeam::emulated::is_allocated(const void* data, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(data);
  auto after = g_allocations.upper_bound(at);
  if (after == g_allocations.begin()) return false;
  --after;
  return at + bytes <= after->first + after->second.bytes;
}

void counterbeam::emulated::check_shared_memory(const void* kernel, std::size_t bytes) {
  constexpr std::size_t kByDefault = 48 * 1024;
  const auto found = g_shared_bytes.find(kernel);
  if (bytes > (found == g_shared_bytes.end() ? kByDefault : std::size_t(found->second)))
    throw std::runtime_error("a kernel with more shared memory than was asked for");
}

extern "C" {

cudaError_t cudaMalloc(void** data, size_t bytes) {
  return allocate(data, bytes);
}
cudaError_t cudaFree(void* data) {
  return data == nullptr ? cudaSuccess : release(data);
}
cudaError_t cudaMallocHost(void** data, size_t bytes) {
  return allocate(data, bytes);
}
cudaError_t cudaFreeHost(void* data) {
  return cudaFree(data);
}
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = *total = kMemory;
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}
cudaError_t cudaMemset(void* data, int value, size_t bytes) {
  std::memset(data, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "emulated");
  properties->major = 9;
  properties->multiProcessorCount = machine().processors;
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t) {
  return "an error of the emulated device";
}
cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  static int any;
  *stream = reinterpret_cast<cudaStream_t>(&any);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  static int any;
  *event = reinterpret_cast<cudaEvent_t>(&any);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) {
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value > kBlockMemory)
    return cudaErrorInvalidValue;
  g_shared_bytes[kernel] = value;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int* count, const void*,
                                           const cudaLaunchConfig_t* config) {
  *count = machine().processors *
           blocks_per_processor(config->blockDim.x, config->dynamicSmemBytes) /
           int(config->attrs[0].val.clusterDim.x);
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
  *function = reinterpret_cast<void*>(&encode_tiled);
  *found = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

}  // extern "C"
