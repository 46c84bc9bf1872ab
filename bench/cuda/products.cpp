// Times the GEMMs of decoding, scoring and prefill on the device, with plain and with quantised
// weights: time, bytes of weights per second, operations per second. The weights alternate, so that
// none stays in the L2 cache.
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

// How weights are kept: plain, or quantised in groups (0: a scale per output).
struct Form {
  const char* name;
  bool quantised;
  CodeRoute route;
  int group;
};
constexpr Form kForms[] = {{"bf16", false, {}, 0},
                           {"fp8", true, CodeRoute::Fp8Bf16, 128},
                           {"fp8 f32", true, CodeRoute::Fp8Float, 128},
                           {"int8", true, CodeRoute::Int8Bf16, 0},
                           {"int8 f32", true, CodeRoute::Int8Float, 32},
                           {"int4", true, CodeRoute::Int4Bf16, 128},
                           {"int4 f16", true, CodeRoute::Int4Half, 128},
                           {"int4 f32", true, CodeRoute::Int4Float, 32}};

CodeWeights codes_of(const Form& form, int in) {
  CodeWeights codes;
  codes.route = form.route;
  codes.group = form.group > 0 ? form.group : in;
  codes.groups = (in + codes.group - 1) / codes.group;
  codes.slots = slots_of(codes.group, codes.groups);
  return codes;
}

void time_product(cudaStream_t stream, const ProductDevice& device, const Shape& shape,
                  const Form& form, int rows) {
  const CodeWeights codes = codes_of(form, shape.in);
  const std::size_t bytes = form.quantised ? packed_code_bytes(codes, shape.out, shape.in)
                                           : packed_elements(shape.out, shape.in) * sizeof(Bf16);
  const std::size_t held = (bytes + 8191) / 8192 * 8192;
  const int copies = static_cast<int>(std::max<std::size_t>(2, (std::size_t{400} << 20) / held));
  // Random numbers of bf16 do as codes and scales.
  DeviceMemory memory(held * std::size_t(copies), "weights");
  const auto blocks = static_cast<int>(held * std::size_t(copies) / 8192);
  pack_random(stream, {memory.as<Bf16>(), blocks * kBlock, kBlock, {}}, 0.02f, 1);
  const auto weights = [&](int i) {
    const auto copy = std::size_t(i % copies) * held;
    Weights one{nullptr, shape.out, shape.in, codes};
    if (form.quantised)
      one.codes.records = memory.as<std::uint8_t>() + copy;
    else
      one.blocks = memory.as<Bf16>() + copy / sizeof(Bf16);
    return one;
  };
  DeviceMemory x(std::size_t(std::max(rows, 64)) * std::size_t(shape.in) * 2, "x");
  DeviceMemory y(std::size_t(rows) * std::size_t(shape.out) * 4, "y");
  pack_random(stream, {x.as<Bf16>(), std::max(64, rows / 64 * 64), shape.in / 64 * 64, {}}, 1.0f,
              99);
  check(cudaMemsetAsync(y.data(), 0, y.bytes(), stream), "clearing");
  const Matrix m{x.data(), rows, shape.in, shape.in};
  const int width = shape.finish == Finish::SiluMul ? shape.out / 2 : shape.out;
  const double us = microseconds(stream, rows > 1000 ? 3 : 20, [&](int i) {
    product(stream, device, {shape.finish, y.data(), width, nullptr}, m, weights(i));
  });
  fmt::print("{:>8} {:>10} {:>6} {:>10.1f} {:>8.2f} {:>9.1f}\n", shape.name, form.name, rows, us,
             double(bytes) / us / 1e6,
             2.0 * rows * double(shape.out) * double(shape.in) / us / 1e6);
}

void run(int hidden, int intermediate, int qkv, const std::vector<int>& row_counts) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "properties");
  const int processors = properties.multiProcessorCount;
  prepare_products();
  DeviceMemory sums(product_workspace(processors), "sums");
  DeviceMemory flags(std::size_t(product_flags(processors)) * 4, "flags");
  check(cudaMemset(flags.data(), 0, flags.bytes()), "clearing");
  ProductDevice device;
  device.partial_sums = sums.as<float>();
  device.flags = flags.as<unsigned>();
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
  std::size_t most = 0;
  for (const Shape& shape : shapes)
    if (shape.finish != Finish::StoreFloat)
      most = std::max(most, packed_elements(shape.out, shape.in));
  DeviceMemory decoded(most * sizeof(Bf16), "decoded weights");
  device.decoded = decoded.as<Bf16>();
  device.decoded_elements = most;
  fmt::print("{:>8} {:>10} {:>6} {:>10} {:>8} {:>9}\n", "product", "weights", "rows", "us", "TB/s",
             "TFLOP/s");
  for (const Shape& shape : shapes)
    for (const int rows : row_counts)
      if (shape.finish != Finish::StoreFloat || rows <= 512)
        for (const Form& form : kForms) time_product(stream, device, shape, form, rows);
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
