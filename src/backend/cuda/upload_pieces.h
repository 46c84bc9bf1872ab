// Two pieces of pinned memory that alternate, each with its copy on the device, so that filling
// one, copying and packing overlap; and the threads that fill them.
#pragma once

#include <memory>

#include "backend/cuda/device_memory.h"
#include "backend/cuda/handles.h"
#include "base/thread_pool.h"

namespace counterbeam::cuda {

class UploadPieces {
 public:
  static constexpr std::size_t kBytes = std::size_t{32} << 20;

  // The threads that fill pieces.
  ThreadPool& readers();
  // Calls fill(host) with a piece that is free, copies `bytes` of it and calls use(device), which
  // puts kernels on the stream. REQUIRES bytes <= kBytes.
  template <typename Fill, typename Use>
  void send(cudaStream_t stream, std::size_t bytes, const Fill& fill, const Use& use) {
    Piece& piece = next();
    fill(piece.host.data());
    copy(stream, piece, bytes);
    use(piece.device.as<std::byte>());
    sent(stream, piece);
  }

 private:
  struct Piece {
    PinnedMemory host;
    DeviceMemory device;
    Event sent;  // made last: with it, the piece is complete
  };
  Piece& next();
  static void copy(cudaStream_t stream, Piece& piece, std::size_t bytes);
  static void sent(cudaStream_t stream, Piece& piece);

  Piece pieces_[2];
  int turn_ = 0;
  std::unique_ptr<ThreadPool> readers_;
};

}  // namespace counterbeam::cuda
