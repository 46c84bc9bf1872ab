// Uploads weights from the memory-mapped file: two pieces of pinned memory alternate, so that
// reading the file, copying and packing overlap. Several threads fill a piece, since page faults
// make one thread far slower than the file and the copy. Quantised weights are decoded to bf16 on
// the way: the GPU has no kernels for packed codes yet, so they take the memory of dense ones.
#pragma once

#include <memory>

#include "backend/cuda/device_memory.h"
#include "backend/cuda/products.h"
#include "base/thread_pool.h"
#include "tensor/stored_matrix.h"

namespace counterbeam::cuda {

class WeightUpload {
 public:
  // Stacks parts [outs, in] along the first dimension. Returns when the parts are no longer needed.
  void pack(cudaStream_t stream, const Weights& weights, std::span<const StoredMatrix> parts);

 private:
  struct Piece {
    PinnedMemory host;
    DeviceMemory device;
    cudaEvent_t sent = nullptr;
  };
  void prepare();
  void pack_part(cudaStream_t stream, const Weights& weights, int first_out,
                 const StoredMatrix& part);
  // Copies or decodes rows [first, first + rows) of a part into a piece.
  void fill_rows(std::byte* to, const StoredMatrix& part, int first, int rows);
  void fill(std::byte* to, const std::byte* from, std::size_t bytes);

  Piece pieces_[2];
  int turn_ = 0;
  std::unique_ptr<ThreadPool> readers_;
};

}  // namespace counterbeam::cuda
