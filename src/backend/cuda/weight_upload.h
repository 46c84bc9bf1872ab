// Weights from the memory map to the device: two pieces of pinned memory take turns, so that
// reading the file, copying and packing overlap.
#pragma once

#include "backend/cuda/device_memory.h"
#include "backend/cuda/products.h"
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

  Piece pieces_[2];
  int turn_ = 0;
};

}  // namespace counterbeam::cuda
