// The arrays of a step on their way to the device: written to pinned memory, copied in one go.
// Where an array lies depends on the rounded counts alone, so that graphs find it again.
#pragma once

#include <span>
#include <vector>

#include "backend/cuda/device_memory.h"
#include "backend/cuda/kernels.h"
#include "backend/ops.h"

namespace counterbeam::cuda {

constexpr int kGraphRows = 512;  // steps with more rows are no graphs: launched call by call

class BatchUpload {
 public:
  // REQUIRES the copies of the step before to be over. `rows` and `context` are rounded up.
  DeviceBatch write(const Batch& batch, int rows, int segments, int context);
  void send(cudaStream_t stream);

  // Row numbers for gather(), `count` rounded up with zeros; sent at once.
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
