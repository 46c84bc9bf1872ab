// The stream of the CUDA back end, and the one guard that keeps the replay contract of ops.h.
//
// A decoding step is captured as a CUDA graph on first use of its kind (rows and context, rounded
// up); later steps of the kind replay the graph. Operations get a stream from enqueue() alone, so
// that none of them can launch during a replay. Everything else that runs on the device takes its
// stream from end(), which closes the graph first, or from uploads().
#pragma once

#include <cuda_runtime_api.h>

#include <compare>
#include <map>

namespace counterbeam::cuda {

struct StepKind {
  int rows = 0;     // rounded up
  int context = 0;  // rounded up
  auto operator<=>(const StepKind&) const = default;
};

class StepGraphs {
 public:
  StepGraphs();
  ~StepGraphs();
  StepGraphs(const StepGraphs&) = delete;
  StepGraphs& operator=(const StepGraphs&) = delete;

  // Starts a step that is captured or replayed. REQUIRES end() to have been called since the last
  // begin(). A step without begin() is launched call by call.
  void begin(const StepKind& kind);
  // Whether the step's graph is being captured or replayed.
  bool in_graph() const { return mode_ != Mode::Direct; }

  // Launches an operation of the pass: calls launch(stream) unless the graph of this step holds it
  // already. If the launch throws, the capture is abandoned.
  template <typename Launch>
  void enqueue(Launch&& launch) {
    if (mode_ == Mode::Replay) return;
    guarded([&] { launch(operations_); });
  }
  // Host-side preparation that may throw while a graph is captured, such as an allocation.
  template <typename Work>
  auto guarded(Work&& work) {
    try {
      return work();
    } catch (...) {
      abandon();
      throw;
    }
  }

  // Ends the graph, if one is under way, and launches it. Returns the stream for what follows.
  cudaStream_t end();
  // The stream for one-time copies to the device (weights, tables). They are no part of a step's
  // graph and run before it.
  cudaStream_t uploads() const { return stream_; }

 private:
  enum class Mode { Direct, Capture, Replay };

  cudaGraph_t end_capture();
  void abandon();  // of a capture: the graph would lack the operations that were not reached

  cudaStream_t stream_ = nullptr;      // where everything runs
  cudaStream_t capture_ = nullptr;     // where graphs are captured
  cudaStream_t operations_ = nullptr;  // one of the two
  Mode mode_ = Mode::Direct;
  StepKind kind_;
  std::map<StepKind, cudaGraphExec_t> graphs_;
};

}  // namespace counterbeam::cuda
