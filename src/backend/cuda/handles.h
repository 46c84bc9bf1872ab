// Streams, events and graphs of the CUDA runtime, each destroyed with its owner.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

namespace counterbeam::cuda {

struct Destroy {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  void operator()(cudaGraph_t graph) const { cudaGraphDestroy(graph); }
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};

using Stream = std::unique_ptr<CUstream_st, Destroy>;
using Event = std::unique_ptr<CUevent_st, Destroy>;
using Graph = std::unique_ptr<CUgraph_st, Destroy>;
using RunnableGraph = std::unique_ptr<CUgraphExec_st, Destroy>;

// A stream that does not wait for the default stream.
Stream make_stream();
// An event without timing.
Event make_event();

}  // namespace counterbeam::cuda
