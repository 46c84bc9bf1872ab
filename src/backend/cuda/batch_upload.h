// Uploads the arrays of a step: they are written to pinned memory and sent in one copy. The address
// of an array depends on the rounded counts alone, so that a replayed graph finds it.
#pragma once

#include <span>
#include <vector>

#include "backend/cuda/device_memory.h"
#include "backend/cuda/kernels.h"
#include "backend/ops.h"

namespace counterbeam::cuda {

constexpr int kGraphRows = 512;  // steps with more rows are launched call by call, not as graphs

class BatchUpload {
 public:
  // REQUIRES the previous step's copies to be done. `rows` and `context` are rounded up.
  DeviceBatch write(const Batch& batch, int rows, int segments, int context);
  void send(cudaStream_t stream);

  // Sends the row numbers of gather(), padded with zeros to `count`.
  const int* send_rows(cudaStream_t stream, std::span<const int> rows, int count);

 private:
  struct Places {
    std::size_t row_segment, row_position, segments, pages, tile_count, tiles;  // ids come first
  };
  void make_room(std::size_t bytes);

  PinnedMemory host_, host_rows_;
  DeviceMemory device_, device_rows_;
  std::vector<SharedTile> tiles_;
  std::size_t used_ = 0;
};

}  // namespace counterbeam::cuda
