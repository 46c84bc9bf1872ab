// Tests the emulated device itself: products and copies are exact, and what kernels may do wrong is
// found.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "cuda_emulated/arithmetic.h"
#include "cuda_emulated/copies.h"
#include "cuda_emulated/warpgroup.h"

namespace counterbeam::emulated {
namespace {

// The error of a kernel of one thread block; empty: none.
std::string error_of(unsigned threads, const std::function<void()>& body, unsigned blocks = 1) {
  try {
    run_kernel({blocks, threads, 16 * 1024, blocks}, body);
  } catch (const std::runtime_error& error) {
    const std::string what = error.what();
    return what.substr(0, what.find(':'));
  }
  return "";
}

// Shared memory at a multiple of 1,024.
std::uint32_t tile_address() {
  return (shared_address(dynamic_shared()) + 1023) / 1024 * 1024;
}
std::uint16_t* tile() {
  return reinterpret_cast<std::uint16_t*>(current->block->at(tile_address(), 8192));
}
std::uint64_t descriptor() {
  return std::uint64_t{1} << 62 | std::uint64_t{64} << 32 | tile_address() >> 4;
}

struct DeviceBytes {
  explicit DeviceBytes(std::size_t bytes) { cudaMalloc(&data, bytes); }
  ~DeviceBytes() { cudaFree(data); }
  void* data = nullptr;
};

// Issues a product of fragments `a` and the tile, [16][16] bf16.
void multiply(float (&sums)[8], const std::uint32_t (&a)[4]) {
  Warpgroup& group = current->warpgroup();
  group.fence();
  group.issue({16, sums, true, {&a[0], &a[1], &a[2], &a[3]}, 0, descriptor()});
  group.commit();
}

TEST(EmulatedDevice, MultipliesTiles) {
  // A[m][k] = m % 8 + k / 16, B[n][k] = (n == k): every product adds A to the sums.
  std::vector<float> sums(64 * 16);
  EXPECT_EQ(
      error_of(
          128,
          [&] {
            const int thread = current->number, row = thread / 32 * 16 + thread % 32 / 4;
            for (int i = thread; i < 256; i += 128) {
              const int n = i / 16, k = i % 16;
              tile()[n * 64 + (k / 8 ^ n % 8) * 8 + k % 8] = n == k ? 0x3f80 : 0;
            }
            std::uint32_t a[4];
            for (int e = 0; e < 4; ++e) {
              const int k = e / 2 * 8 + thread % 4 * 2, m = row + e % 2 * 8;
              a[e] = round_to_bf16(m % 8 + k / 16.0) | round_to_bf16(m % 8 + (k + 1) / 16.0) << 16;
            }
            float mine[8] = {};
            sync_block(0, 0);
            multiply(mine, a);
            EXPECT_TRUE(std::isnan(mine[0]));
            multiply(mine, a);
            current->warpgroup().wait(0);
            for (int i = 0; i < 8; ++i)
              sums[std::size_t((row + i / 2 % 2 * 8) * 16 + i / 4 * 8 + thread % 4 * 2 + i % 2)] =
                  mine[i];
          }),
      "");
  for (int i = 0; i < 64 * 16; ++i)
    EXPECT_EQ(sums[std::size_t(i)], 2 * (i / 16 % 8 + i % 16 / 16.0f)) << i;
}

TEST(EmulatedDevice, FindsOperandsThatChangeTooEarly) {
  const auto multiply_and = [](const auto& change) {
    return error_of(128, [&] {
      std::uint32_t a[4] = {};
      float sums[8] = {};
      if (current->number < 64) tile()[current->number] = 0;
      sync_block(0, 0);
      multiply(sums, a);
      sync_block(0, 0);
      change(a, sums);
      sync_block(0, 0);
      current->warpgroup().wait(0);
    });
  };
  using A = std::uint32_t(&)[4];
  using Sums = float(&)[8];
  EXPECT_EQ(multiply_and([](A, Sums) {}), "");
  EXPECT_EQ(multiply_and([](A a, Sums) { a[2] = 1; }),
            "registers change under a product that reads them");
  EXPECT_EQ(multiply_and([](A, Sums sums) { sums[5] = 1; }),
            "sums change under a product that adds to them");
  EXPECT_EQ(multiply_and([](A, Sums) { tile()[3] = 1; }),
            "shared memory changes under a product that reads it");
  const DeviceBytes bytes(16);
  EXPECT_EQ(multiply_and([&](A, Sums) {
              if (current->number == 0) copy_bytes(tile_address() + 64, bytes.data, 16, 0);
            }),
            "a bulk copy to memory that a product may still read");
}

TEST(EmulatedDevice, CountsBytesAndArrivals) {
  const DeviceBytes bytes(64);
  const auto copy = [&](int expected, int copied, int arrivals) {
    return error_of(32, [&, expected, copied, arrivals] {
      if (current->number == 0) barrier_init(tile_address() + 4096, 1);
      sync_block(0, 0);
      if (current->number < arrivals) barrier_arrive(tile_address() + 4096, expected);
      if (current->number == 0)
        copy_bytes(tile_address(), bytes.data, copied, tile_address() + 4096);
      barrier_wait(tile_address() + 4096, 0);
    });
  };
  EXPECT_EQ(copy(64, 64, 1), "");
  EXPECT_EQ(copy(80, 64, 1), "no thread can go on");
  EXPECT_EQ(copy(64, 80, 1), "a bulk copy from beyond an allocation");
  EXPECT_EQ(copy(32, 64, 1), "more bytes than a barrier expects");
  EXPECT_EQ(copy(64, 64, 2), "more arrivals than a barrier counts");
  EXPECT_EQ(copy(64, 64, 0), "more bytes than a barrier expects");
}

TEST(EmulatedDevice, FindsThreadsThatWaitForEver) {
  EXPECT_EQ(error_of(64, [] { sync_block(1, 64); }), "");
  EXPECT_EQ(error_of(64,
                     [] {
                       if (current->number > 0) sync_block(1, 64);
                     }),
            "no thread can go on");
  unsigned flag = 0;
  EXPECT_EQ(error_of(2,
                     [&] {
                       if (current->number == 1) return store_release(&flag, 1);
                       while (load_acquire(&flag) == 0) {
                       }
                     }),
            "");
  EXPECT_EQ(error_of(1,
                     [] {
                       unsigned never = 0;
                       while (load_acquire(&never) == 0) {
                       }
                     }),
            "no thread can go on");
}

TEST(EmulatedDevice, ClustersMeet) {
  std::vector<int> seen(4 * 32);
  EXPECT_EQ(error_of(
                32,
                [&] {
                  const auto block = current->block->index.x;
                  if (current->number == 0)
                    *reinterpret_cast<int*>(dynamic_shared()) = int(block) + 1;
                  cluster_arrive();
                  cluster_wait();
                  const Block& next = current->block->cluster->blocks[(block + 1) % 4];
                  seen[block * 32 + unsigned(current->number)] =
                      *reinterpret_cast<const int*>(next.memory.get() + next.dynamic_at);
                  cluster_arrive();
                  cluster_wait();
                },
                4),
            "");
  for (unsigned i = 0; i < 128; ++i) EXPECT_EQ(seen[i], int((i / 32 + 1) % 4 + 1));
}

TEST(EmulatedDevice, RoundsOnceAndKeepsSubnormalNumbers) {
  EXPECT_EQ(round_to_bf16(0x1p-133), 1u);
  EXPECT_EQ(round_to_bf16(-0x1.8p-133), 0x8002u);  // to even
  EXPECT_EQ(round_to_bf16(0x1.01p0), 0x3f80u);
  EXPECT_EQ(round_to_bf16(0x1.010001p0), 0x3f81u);
  EXPECT_EQ(round_to_bf16(0x1.ffp127), 0x7f80u);
  // 255 as a subnormal number, scaled to 255 and shifted by -128.
  EXPECT_EQ(fma_pairs(255 << 16 | 3, 0x7e807e80, 0) >> 16, round_to_bf16(255 * 0x1p-7));
  // A sum that double precision would round to a tie.
  EXPECT_EQ(fma_pairs(0x3f80, 0x3f80, 0x0001) & 0xffff, 0x3f80u);
  EXPECT_EQ(round_to_bf16(fma_to_odd(0x1.02p0, 0x1.02p-9, 0x1p-100)),
            round_to_bf16(0x1.02p0 * 0x1.02p-9));
}

}  // namespace
}  // namespace counterbeam::emulated
