// What nvcc gives to device code, for the compiler of the host. Included before every translated
// file (translate.py).
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <bit>
#include <cmath>

#include "cuda_emulated/machine.h"
#include "cuda_emulated/ptx.h"

#undef __launch_bounds__
#undef __grid_constant__
#define __launch_bounds__(...)
#define __grid_constant__
#define __CUDACC__
#define cudaLaunchKernelEx ::counterbeam::emulated::launch_kernel
#define __expf(x) ::std::exp(float(x))  // the name is taken by the C library
#define __syncthreads() ::counterbeam::emulated::sync_block(0, 0)
#define __threadfence()
#define __cvta_generic_to_shared(pointer) ::counterbeam::emulated::shared_address(pointer)

inline int min(int a, int b) {
  return a < b ? a : b;
}
inline int max(int a, int b) {
  return a > b ? a : b;
}
inline float rsqrtf(float x) {
  return 1.0f / std::sqrt(x);
}
inline float __fdividef(float x, float y) {
  return x / y;
}
inline float __fmaf_rn(float a, float b, float c) {
  return std::fma(a, b, c);
}
inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline float __uint_as_float(unsigned x) {
  return std::bit_cast<float>(x);
}
inline float4 __ldcg(const float4* from) {
  return *from;
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const std::uint64_t both = a | std::uint64_t(b) << 32;
  unsigned chosen = 0;
  for (int i = 0; i < 4; ++i)
    chosen |= unsigned(both >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return chosen;
}

namespace counterbeam::emulated {

// Throws if the kernel may not have so much shared memory.
void check_shared_memory(const void* kernel, std::size_t bytes);

template <typename T>
struct Shuffle {
  T value, taken;
  int from;
};
template <typename T>
T shuffle(const char* what, unsigned mask, T value, int from) {
  Shuffle<T> mine{value, value, from};
  together(what, mask, mine, [](const std::array<Shuffle<T>*, 32>& lanes) {
    for (Shuffle<T>* lane : lanes)
      if (lane != nullptr) lane->taken = lanes[std::size_t(lane->from)]->value;
  });
  return mine.taken;
}

template <typename... Parameters, typename... Arguments>
cudaError_t launch_kernel(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                          Arguments... arguments) {
  LaunchShape shape{config->gridDim, config->blockDim, config->dynamicSmemBytes, 1};
  for (unsigned i = 0; i < config->numAttrs; ++i)
    if (config->attrs[i].id == cudaLaunchAttributeClusterDimension)
      shape.cluster = config->attrs[i].val.clusterDim.x;
  check_shared_memory(reinterpret_cast<const void*>(kernel), shape.shared_bytes);
  run_kernel(shape, [&] { kernel(arguments...); });
  return cudaSuccess;
}

// kernel<<<grid, block, shared_bytes, stream>>>
inline void launch_body(dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t,
                        const std::function<void()>& body) {
  run_kernel({grid, block, shared_bytes, 1}, body);
}

// A static array; `key` differs from array to array.
template <typename T>
T& shared_array(const void* key) {
  return *reinterpret_cast<T*>(static_shared(key, sizeof(T), 128));
}

}  // namespace counterbeam::emulated

template <typename T>
T __shfl_sync(unsigned mask, T value, int lane) {
  return counterbeam::emulated::shuffle("shfl", mask, value, lane);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int other) {
  const int lane = counterbeam::emulated::current->number % 32;
  return counterbeam::emulated::shuffle("shfl.xor", mask, value, lane ^ other);
}

// Kernels as the untyped pointers of the runtime's functions.
template <typename... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute,
                                 int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}
template <typename... Parameters>
cudaError_t cudaOccupancyMaxActiveClusters(int* count, void (*kernel)(Parameters...),
                                           const cudaLaunchConfig_t* config) {
  return cudaOccupancyMaxActiveClusters(count, reinterpret_cast<const void*>(kernel), config);
}
