// Kernel launches with programmatic dependent launch: a kernel may start while its predecessor
// ends. A kernel calls wait_for_predecessor() before it touches anything that a kernel of the step
// writes; every thread block calls let_successor_start() when the successor may be scheduled.
#pragma once

#include <cuda_runtime.h>

namespace counterbeam::cuda {

// Throws an Error if `status` is not success.
void check(cudaError_t status, const char* what);

#ifdef __CUDACC__

__device__ __forceinline__ void wait_for_predecessor() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

__device__ __forceinline__ void let_successor_start() {
  asm volatile("griddepcontrol.launch_dependents;");
}

// `cluster`: adjacent thread blocks that form a cluster; 0: as the kernel declares.
template <typename... Parameters, typename... Arguments>
void launch_clusters(cudaStream_t stream, const char* name, void (*kernel)(Parameters...),
                     unsigned cluster, dim3 grid, dim3 block, std::size_t shared_bytes,
                     Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim = {cluster, 1, 1};
  config.attrs = attributes;
  config.numAttrs = cluster > 0 ? 2 : 1;
  check(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...), name);
}

template <typename... Parameters, typename... Arguments>
void launch(cudaStream_t stream, const char* name, void (*kernel)(Parameters...), dim3 grid,
            dim3 block, std::size_t shared_bytes, Arguments... arguments) {
  launch_clusters(stream, name, kernel, 0, grid, block, shared_bytes, arguments...);
}

#endif

}  // namespace counterbeam::cuda
