// Weights from the memory map to the device: pieces of pinned memory take turns, so that reading
// the file, copying and packing overlap. A piece is filled by several threads: one alone, which
// waits for every page that it touches, is far slower than the file and the copy.
#pragma once

#include <memory>

#include "backend/cuda/device_memory.h"
#include "backend/cuda/products.h"
#include "base/thread_pool.h"
#include "tensor/tensor.h"

namespace counterbeam::cuda {

class WeightUpload {
 public:
  // Parts [outs, in] one below the other. Returns when the views are no longer needed.
  void pack(cudaStream_t stream, const Weights& weights, std::span<const TensorView> parts);

 private:
  struct Piece {
    PinnedMemory host;
    DeviceMemory device;
    cudaEvent_t sent = nullptr;
  };
  void prepare();
  void fill(std::byte* to, const std::byte* from, std::size_t bytes);

  Piece pieces_[2];
  int turn_ = 0;
  std::unique_ptr<ThreadPool> readers_;
};

}  // namespace counterbeam::cuda
