#include "backend/cuda/device_memory.h"

#include <algorithm>

#include "backend/cuda/launch.h"
#include "base/error.h"

namespace counterbeam::cuda {
namespace {

constexpr double kGibibyte = 1 << 30;
constexpr std::size_t kPiece = std::size_t{64} << 20;

}  // namespace

std::size_t free_device_memory() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for free memory");
  return free;
}

DeviceMemory::DeviceMemory(std::size_t bytes, const char* what) {
  want(bytes, what);
}

void DeviceMemory::want(std::size_t bytes, const char* what) {
  if (bytes <= bytes_) return;
  data_.reset();
  bytes_ = 0;
  void* data = nullptr;
  if (cudaMalloc(&data, bytes) != cudaSuccess) {
    cudaGetLastError();
    failed(
        "the GPU has no {:.2f} GiB left for {} ({:.2f} GiB are free): use a smaller model, less "
        "--cache-memory, or --device cpu",
        static_cast<double>(bytes) / kGibibyte, what,
        static_cast<double>(free_device_memory()) / kGibibyte);
  }
  data_.reset(data);
  bytes_ = bytes;
}

void PinnedMemory::want(std::size_t bytes) {
  if (bytes <= bytes_) return;
  data_.reset();
  bytes_ = 0;
  void* data = nullptr;
  check(cudaMallocHost(&data, bytes), "allocating pinned memory");
  data_.reset(static_cast<std::byte*>(data));
  bytes_ = bytes;
}

void* Arena::take(std::size_t bytes) {
  bytes = (bytes + 255) / 256 * 256;
  while (piece_ < pieces_.size() && used_ + bytes > pieces_[piece_].bytes()) {
    ++piece_;
    used_ = 0;
  }
  if (piece_ == pieces_.size()) pieces_.emplace_back(std::max(bytes, kPiece), "activations");
  void* data = pieces_[piece_].as<std::byte>() + used_;
  used_ += bytes;
  return data;
}

}  // namespace counterbeam::cuda
