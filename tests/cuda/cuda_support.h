// Support for the tests of the CUDA kernels: device memory, bf16 matrices from and to floats, and a
// batch in the form of the kernels. Tests are skipped without a device.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "../backend/cpu_support.h"
#include "backend/cuda/kernels.h"
#include "backend/cuda/launch.h"
#include "backend/cuda/tile_sharing.h"

namespace counterbeam {

inline bool device_is_there() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

// Whether a product is left to real devices: an emulated one (tests/cuda_emulated) is slow.
inline bool is_left_out(int rows, int out, int in) {
  static const bool emulated = [] {
    cudaDeviceProp properties{};
    return cudaGetDeviceProperties(&properties, 0) == cudaSuccess &&
           std::string_view(properties.name) == "emulated";
  }();
  constexpr double kMostWeights = 4e5, kMostProducts = 5e6;
  const double weights = double(out) * in;
  return emulated && (weights > kMostWeights || rows * weights > kMostProducts);
}

class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!device_is_there()) GTEST_SKIP() << "there is no CUDA device";
  }
};

// An array on the device, filled with 0xff (NaN) if no values are given. With COUNTERBEAM_UNFILLED
// it is left uninitialised, for compute-sanitizer's initcheck.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    cuda::check(cudaMalloc(reinterpret_cast<void**>(&data_), std::max<std::size_t>(1, bytes())),
                "allocating");
    if (std::getenv("COUNTERBEAM_UNFILLED") != nullptr) return;
    cuda::check(cudaMemset(data_, 0xff, bytes()), "filling");
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    cuda::check(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), "uploading");
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  std::vector<T> get() const {
    std::vector<T> values(count_);
    cuda::check(cudaDeviceSynchronize(), "running");
    cuda::check(cudaMemcpy(values.data(), data_, bytes(), cudaMemcpyDeviceToHost), "downloading");
    return values;
  }

 private:
  std::size_t count_;
  T* data_ = nullptr;
};

// A bf16 matrix [rows, width] whose rows are `stride` apart.
class DeviceMatrix {
 public:
  DeviceMatrix(int rows, int width, int stride = 0)
      : width_(width),
        stride_(stride > 0 ? stride : round_to_8(width)),
        array_(std::size_t(rows) * std::size_t(stride_)),
        rows_(rows) {}
  DeviceMatrix(const std::vector<float>& values, int rows, int width, int stride = 0)
      : DeviceMatrix(rows, width, stride) {
    std::vector<std::uint16_t> bits(std::size_t(rows) * std::size_t(stride_), 0xffff);
    for (int r = 0; r < rows; ++r) {
      for (int i = 0; i < width; ++i)
        bits[std::size_t(r * stride_ + i)] = to_bf16(values[std::size_t(r * width + i)]);
    }
    cuda::check(cudaMemcpy(array_.data(), bits.data(), array_.bytes(), cudaMemcpyHostToDevice),
                "uploading");
  }
  Matrix matrix() const { return {array_.data(), rows_, width_, stride_}; }
  std::vector<float> get() const {
    const std::vector<std::uint16_t> bits = array_.get();
    std::vector<float> values;
    for (int r = 0; r < rows_; ++r) {
      for (int i = 0; i < width_; ++i)
        values.push_back(from_bf16(bits[std::size_t(r * stride_ + i)]));
    }
    return values;
  }

 private:
  static int round_to_8(int n) { return (n + 7) / 8 * 8; }
  int width_, stride_;
  DeviceArray<std::uint16_t> array_;
  int rows_;
};

// The batch of a TestBatch on the device, with `padding` rows and segments after the real ones.
class DeviceTestBatch {
 public:
  explicit DeviceTestBatch(const Batch& batch, int padding = 0)
      : lists_(batch, padding),
        ids_(lists_.ids),
        row_segment_(lists_.row_segment),
        row_position_(lists_.row_position),
        segments_(lists_.segments),
        pages_(lists_.pages),
        tiles_(lists_.tiles),
        tile_count_(lists_.tile_count) {}

  cuda::DeviceBatch batch() const {
    return {ids_.data(),
            row_segment_.data(),
            row_position_.data(),
            segments_.data(),
            pages_.data(),
            static_cast<int>(lists_.ids.size()),
            static_cast<int>(lists_.segments.size()),
            lists_.longest_segment,
            lists_.longest_context,
            tiles_.data(),
            tile_count_.data()};
  }

 private:
  struct Lists {
    Lists(const Batch& batch, int padding) {
      for (const Segment& segment : batch.segments) {
        for (int i = 0; i < segment.rows; ++i) {
          row_segment.push_back(static_cast<int>(segments.size()));
          row_position.push_back(segment.position + i);
        }
        segments.push_back({segment.first_row, segment.rows, segment.position,
                            static_cast<int>(pages.size()), static_cast<int>(segment.state)});
        for (const PageId page : segment.pages) pages.push_back(static_cast<int>(page));
        longest_segment = std::max(longest_segment, segment.rows);
        longest_context = std::max(longest_context, segment.position + segment.rows);
      }
      if (!pages.empty()) cuda::share_tiles(segments, pages.data(), tiles);
      tile_count.push_back(static_cast<int>(tiles.size()));
      tiles.resize((batch.ids.size() + std::size_t(padding)) * kMostTiles);
      ids.assign(batch.ids.begin(), batch.ids.end());
      for (int i = 0; i < padding; ++i) {
        ids.push_back(0);
        row_segment.push_back(0);
        row_position.push_back(-1);
        segments.push_back({static_cast<int>(batch.ids.size()), 0, 0, 0, 0});
      }
    }
    std::vector<int> ids, row_segment, row_position, pages;
    std::vector<cuda::DeviceSegment> segments;
    static constexpr std::size_t kMostTiles = 80;  // of the longest context in the tests
    std::vector<cuda::SharedTile> tiles;
    std::vector<int> tile_count;
    int longest_segment = 0, longest_context = 0;
  };
  Lists lists_;
  DeviceArray<int> ids_, row_segment_, row_position_;
  DeviceArray<cuda::DeviceSegment> segments_;
  DeviceArray<int> pages_;
  DeviceArray<cuda::SharedTile> tiles_;
  DeviceArray<int> tile_count_;
};

}  // namespace counterbeam
