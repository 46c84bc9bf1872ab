#include "backend/cuda/step_graphs.h"

#include "backend/cuda/launch.h"

namespace counterbeam::cuda {

StepGraphs::StepGraphs() {
  for (cudaStream_t* stream : {&stream_, &capture_})
    check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), "making a stream");
  operations_ = stream_;
}

StepGraphs::~StepGraphs() {
  cudaStreamSynchronize(stream_);
  for (auto& [kind, graph] : graphs_) cudaGraphExecDestroy(graph);
  for (cudaStream_t stream : {stream_, capture_}) cudaStreamDestroy(stream);
}

void StepGraphs::begin(const StepKind& kind) {
  kind_ = kind;
  if (graphs_.contains(kind)) {
    mode_ = Mode::Replay;
    return;
  }
  check(cudaStreamBeginCapture(capture_, cudaStreamCaptureModeRelaxed), "beginning a graph");
  mode_ = Mode::Capture;
  operations_ = capture_;
}

cudaGraph_t StepGraphs::end_capture() {
  operations_ = stream_;
  mode_ = Mode::Direct;
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(capture_, &graph), "ending a graph");
  return graph;
}

cudaStream_t StepGraphs::end() {
  if (mode_ == Mode::Direct) return stream_;
  if (mode_ == Mode::Capture) {
    cudaGraph_t graph = end_capture();
    cudaGraphExec_t runnable = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&runnable, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "making a graph");
    graphs_[kind_] = runnable;
  }
  mode_ = Mode::Direct;
  check(cudaGraphLaunch(graphs_.at(kind_), stream_), "launching a graph");
  return stream_;
}

void StepGraphs::abandon() {
  if (mode_ != Mode::Capture) return;
  operations_ = stream_;
  mode_ = Mode::Direct;
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(capture_, &graph) == cudaSuccess) cudaGraphDestroy(graph);
  cudaGetLastError();  // a failed launch also invalidates the capture: not a further error
}

}  // namespace counterbeam::cuda
