// The stream of the CUDA back end, and the one guard that keeps the replay contract of ops.h.
//
// A decoding step is captured as a CUDA graph on first use of its kind (rows and context, rounded
// up); later steps of the kind replay the graph. Operations get a stream from enqueue() alone, so
// that none of them can launch during a replay. Everything else that runs on the device takes its
// stream from end(), which closes the graph first, or from uploads().
#pragma once

#include <compare>
#include <map>

#include "backend/cuda/handles.h"

namespace counterbeam::cuda {

struct StepKind {
  int rows = 0;     // rounded up
  int context = 0;  // rounded up
  auto operator<=>(const StepKind&) const = default;
};

class StepGraphs {
 public:
  // Starts a step that is captured or replayed. REQUIRES end() or abandon() to have been called
  // since the last begin(). A step without begin() is launched call by call.
  void begin(const StepKind& kind);
  // Whether the step's graph is being captured or replayed.
  bool in_graph() const { return mode_ != Mode::Direct; }

  // Launches an operation of the pass: calls launch(stream) unless the graph of this step holds it
  // already.
  template <typename Launch>
  void enqueue(Launch&& launch) {
    if (mode_ != Mode::Replay) launch(mode_ == Mode::Capture ? capture_.get() : stream_.get());
  }

  // Ends the graph, if one is under way, and launches it. Returns the stream for what follows.
  cudaStream_t end();
  // Drops the graph under way, which lacks the operations that were not reached.
  void abandon() noexcept;
  // The stream for one-time copies to the device (weights, tables). They are no part of a step's
  // graph and run before it.
  cudaStream_t uploads() const { return stream_.get(); }

 private:
  enum class Mode { Direct, Capture, Replay };

  Graph end_capture();

  Stream stream_ = make_stream();   // where everything runs
  Stream capture_ = make_stream();  // where graphs are captured
  Mode mode_ = Mode::Direct;
  StepKind kind_;
  std::map<StepKind, RunnableGraph> graphs_;
};

}  // namespace counterbeam::cuda
