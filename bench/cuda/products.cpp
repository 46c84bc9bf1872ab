// Times the GEMMs of decoding, scoring and prefill on the device: time, bytes of weights per
// second, operations per second. The weights alternate, so that none stays in the L2 cache.
//   bench_cuda_products [HIDDEN INTERMEDIATE QKV [ROWS...]]
#include "backend/cuda/products.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "backend/cuda/device_memory.h"
#include "backend/cuda/launch.h"

namespace counterbeam::cuda {
namespace {

struct Shape {
  const char* name;
  int out, in;
  Finish finish;
};

// Time of one launch in microseconds, the best of five series.
template <typename Launch>
double microseconds(cudaStream_t stream, int count, const Launch& launch_one) {
  cudaEvent_t start, stop;
  check(cudaEventCreate(&start), "event");
  check(cudaEventCreate(&stop), "event");
  double best = 1e30;
  for (int series = 0; series < 6; ++series) {
    check(cudaEventRecord(start, stream), "event");
    for (int i = 0; i < count; ++i) launch_one(i);
    check(cudaEventRecord(stop, stream), "event");
    check(cudaEventSynchronize(stop), "running");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start, stop), "event");
    if (series > 0) best = std::min(best, 1e3 * double(milliseconds) / count);
  }
  return best;
}

void run(int hidden, int intermediate, int qkv, const std::vector<int>& row_counts) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "properties");
  const int processors = properties.multiProcessorCount;
  prepare_products();
  DeviceMemory sums(product_workspace(processors), "sums");
  DeviceMemory flags(std::size_t(product_flags(processors)) * 4, "flags");
  check(cudaMemset(flags.data(), 0, flags.bytes()), "clearing");
  const ProductDevice device{sums.as<float>(), flags.as<unsigned>()};
  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");

  DeviceMemory from(std::size_t{1} << 30, "reading"), to(std::size_t{1} << 30, "writing");
  const double copy = microseconds(stream, 5, [&](int) {
    check(cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice, stream),
          "copying");
  });
  fmt::print("memory copy: {:.2f} TB/s (read and write)\n", 2 * double(from.bytes()) / copy / 1e6);

  const Shape shapes[] = {{"qkv", qkv, hidden, Finish::Store},
                          {"output", hidden, hidden, Finish::Add},
                          {"gate-up", 2 * intermediate, hidden, Finish::SiluMul},
                          {"down", hidden, intermediate, Finish::Add},
                          {"head", 152064, hidden, Finish::StoreFloat}};
  fmt::print("{:>8} {:>6} {:>10} {:>8} {:>9}\n", "product", "rows", "us", "TB/s", "TFLOP/s");
  for (const Shape& shape : shapes) {
    const std::size_t elements = packed_elements(shape.out, shape.in);
    const int copies =
        static_cast<int>(std::max<std::size_t>(2, (std::size_t{400} << 20) / (2 * elements)));
    DeviceMemory weights(elements * 2 * std::size_t(copies), "weights");
    for (int c = 0; c < copies; ++c)
      pack_random(stream, {weights.as<Bf16>() + elements * std::size_t(c), shape.out, shape.in},
                  0.02f, unsigned(c));
    for (const int rows : row_counts) {
      if (shape.finish == Finish::StoreFloat && rows > 512) continue;
      DeviceMemory x(std::size_t(std::max(rows, 64)) * std::size_t(shape.in) * 2, "x");
      DeviceMemory y(std::size_t(rows) * std::size_t(shape.out) * 4, "y");
      pack_random(stream, {x.as<Bf16>(), std::max(64, rows / 64 * 64), shape.in / 64 * 64}, 1.0f,
                  99);
      check(cudaMemsetAsync(y.data(), 0, y.bytes(), stream), "clearing");
      const Matrix m{x.data(), rows, shape.in, shape.in};
      const int width = shape.finish == Finish::SiluMul ? shape.out / 2 : shape.out;
      const double us = microseconds(stream, rows > 1000 ? 3 : 20, [&](int i) {
        product(stream, device, {shape.finish, y.data(), width, nullptr}, m,
                {weights.as<Bf16>() + elements * std::size_t(i % copies), shape.out, shape.in});
      });
      fmt::print("{:>8} {:>6} {:>10.1f} {:>8.2f} {:>9.1f}\n", shape.name, rows, us,
                 2.0 * double(elements) / us / 1e6,
                 2.0 * rows * double(shape.out) * double(shape.in) / us / 1e6);
    }
  }
}

}  // namespace
}  // namespace counterbeam::cuda

int main(int argc, char** argv) {
  const auto number = [&](int i, int otherwise) {
    return argc > i ? std::atoi(argv[i]) : otherwise;
  };
  std::vector<int> rows;
  for (int i = 4; i < argc; ++i) rows.push_back(number(i, 0));
  if (rows.empty()) rows = {1, 16, 32, 48, 64, 128, 192, 256, 384, 512, 1024, 4096, 8192};
  counterbeam::cuda::run(number(1, 3584), number(2, 18944), number(3, 4608), rows);
  return 0;
}
