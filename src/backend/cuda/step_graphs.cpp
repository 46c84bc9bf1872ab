#include "backend/cuda/step_graphs.h"

#include "backend/cuda/launch.h"

namespace counterbeam::cuda {

void StepGraphs::begin(const StepKind& kind) {
  kind_ = kind;
  if (graphs_.contains(kind)) {
    mode_ = Mode::Replay;
    return;
  }
  check(cudaStreamBeginCapture(capture_.get(), cudaStreamCaptureModeRelaxed), "beginning a graph");
  mode_ = Mode::Capture;
}

Graph StepGraphs::end_capture() {
  mode_ = Mode::Direct;
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(capture_.get(), &graph), "ending a graph");
  return Graph(graph);
}

cudaStream_t StepGraphs::end() {
  if (mode_ == Mode::Direct) return stream_.get();
  if (mode_ == Mode::Capture) {
    const Graph graph = end_capture();
    cudaGraphExec_t runnable = nullptr;
    check(cudaGraphInstantiate(&runnable, graph.get(), 0), "making a graph");
    RunnableGraph owned(runnable);
    graphs_[kind_] = std::move(owned);
  }
  mode_ = Mode::Direct;
  check(cudaGraphLaunch(graphs_.at(kind_).get(), stream_.get()), "launching a graph");
  return stream_.get();
}

void StepGraphs::abandon() noexcept {
  if (mode_ == Mode::Capture) {
    cudaGraph_t graph = nullptr;
    if (cudaStreamEndCapture(capture_.get(), &graph) == cudaSuccess) cudaGraphDestroy(graph);
    cudaGetLastError();  // a failed launch also invalidates the capture: not a further error
  }
  mode_ = Mode::Direct;
}

}  // namespace counterbeam::cuda
