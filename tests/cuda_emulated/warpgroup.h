// Products of warpgroups (wgmma), as late as they may be: they read shared memory when the first
// thread waits for them, and their sums reach a thread when that thread waits. Until then its sums
// are NaN, and it is an error if an operand or a sum changes.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "cuda_emulated/machine.h"

namespace counterbeam::emulated {

// A product as a thread issues it: D[64, n] += A[64, 16] B[n, 16]^T.
struct Issue {
  int n = 0;
  float* sums = nullptr;                    // n / 2 of them
  bool in_registers = false;                // A
  std::array<const std::uint32_t*, 4> a{};  // in registers
  std::uint64_t a_tile = 0, b_tile = 0;     // descriptors
};

class Warpgroup {
 public:
  explicit Warpgroup(Block& block) : block_(block) {}

  void fence();
  void issue(const Issue& issue);
  void commit();
  void wait(int pending);
  // Fails if a product may still read this memory.
  void check_overwritten(std::uint32_t at, std::uint32_t bytes) const;
  // Fails if products are in flight.
  void check_end() const;

 private:
  struct Product {
    Issue issue;                    // of the first thread
    int sums = 0;                   // index of the accumulator
    int issued = 0, delivered = 0;  // threads
    bool computed = false;
    std::vector<float> a, b;  // [64][16], [16][n], as they were when the last thread issued it
  };
  // Sums of a thread to which products in flight add.
  struct Sums {
    float* at;
    int n, in_flight, index;
  };
  struct Pending {
    Issue issue;
    std::array<std::uint32_t, 4> a;  // as it was
  };
  struct Lane {
    std::vector<Sums> sums;
    std::vector<Pending> pending;
    std::vector<int> groups;  // how many products each committed group has
    std::uint64_t first = 0;  // number of the first pending product
    int open = 0;             // products that are not committed
    bool fenced = false;
  };

  Lane& lane() { return lanes_[std::size_t(current->number % 128)]; }
  Product& product_of(const Lane& lane, const Issue& issue);
  Sums& sums_of(Lane& lane, const Issue& issue);
  Pending taken(const Issue& issue, Product& product);
  void deliver(Lane& lane);
  void deliver_sums(Lane& lane, const Issue& issue);
  void compute(Product& product);

  Block& block_;
  std::vector<Lane> lanes_{128};
  std::deque<Product> products_;
  std::uint64_t first_ = 0;               // number of products_[0]
  std::vector<std::vector<float>> sums_;  // accumulators [64][n]
  Waiters waiters_;                       // for the last thread to issue a product
};

}  // namespace counterbeam::emulated
