#include "backend/cuda/upload_pieces.h"

#include <algorithm>
#include <thread>

#include "backend/cuda/launch.h"

namespace counterbeam::cuda {
namespace {

constexpr unsigned kMostReaders = 16;

}  // namespace

ThreadPool& UploadPieces::readers() {
  if (readers_ == nullptr) {
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    readers_ = std::make_unique<ThreadPool>(static_cast<int>(std::min(cores, kMostReaders)));
  }
  return *readers_;
}

UploadPieces::Piece& UploadPieces::next() {
  Piece& piece = pieces_[turn_];
  turn_ = 1 - turn_;
  if (piece.sent == nullptr) {
    piece.host.want(kBytes);
    piece.device.want(kBytes, "reading weights");
    piece.sent = make_event();
  } else {
    check(cudaEventSynchronize(piece.sent.get()), "waiting for a copy");
  }
  return piece;
}

void UploadPieces::copy(cudaStream_t stream, Piece& piece, std::size_t bytes) {
  check(cudaMemcpyAsync(piece.device.data(), piece.host.data(), bytes, cudaMemcpyHostToDevice,
                        stream),
        "copying weights");
}

void UploadPieces::sent(cudaStream_t stream, Piece& piece) {
  check(cudaEventRecord(piece.sent.get(), stream), "recording an event");
}

}  // namespace counterbeam::cuda
