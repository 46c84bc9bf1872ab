// Memory on the device, and pinned host memory to copy from.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace counterbeam::cuda {

class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t bytes, const char* what);
  void* data() const { return data_.get(); }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_.get());
  }
  std::size_t bytes() const { return bytes_; }
  // Grows to at least `bytes`; growing loses the contents. REQUIRES the device to be done with it.
  void want(std::size_t bytes, const char* what);

 private:
  struct Free {
    void operator()(void* data) const { cudaFree(data); }
  };
  std::unique_ptr<void, Free> data_;
  std::size_t bytes_ = 0;
};

class PinnedMemory {
 public:
  std::byte* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }
  // As DeviceMemory::want.
  void want(std::size_t bytes);

 private:
  struct Free {
    void operator()(std::byte* data) const { cudaFreeHost(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_ = 0;
};

// A bump allocator over large pieces, freed as a whole by forget(). The pieces are kept, so the
// same requests in the same order give the same addresses: CUDA graphs rely on it.
class Arena {
 public:
  void* take(std::size_t bytes);
  void forget() { piece_ = used_ = 0; }

 private:
  std::vector<DeviceMemory> pieces_;
  std::size_t piece_ = 0, used_ = 0;
};

std::size_t free_device_memory();

}  // namespace counterbeam::cuda
