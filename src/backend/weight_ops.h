// The part of a back end that takes weights: matrices are packed and vectors uploaded once, while a
// model is loaded. The packed layout is private to the back end.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tensor/stored_matrix.h"

namespace counterbeam {

// A weight matrix [out, in] in the back end's packed form.
class PackedMatrix {
 public:
  virtual ~PackedMatrix() = default;
  int out = 0;
  int in = 0;
  std::int64_t bytes = 0;  // of memory; 0 if the back end does not count them
};

// A small float32 parameter: a norm, a bias, a convolution.
class Vector {
 public:
  virtual ~Vector() = default;
  int size = 0;
};

class WeightOps {
 public:
  virtual ~WeightOps() = default;

  // Throws an Error with both sizes if this many weight elements, none of them quantised, do not
  // fit into memory.
  virtual void expect_weights(std::int64_t) const {}

  // Parts are stacked along their first dimension, so that q, k and v are one product. The parts
  // are no longer needed when the call returns.
  virtual std::unique_ptr<PackedMatrix> pack(std::span<const StoredMatrix> parts) = 0;
  virtual std::unique_ptr<Vector> upload(std::span<const TensorView> parts) = 0;
  // Bytes of all matrices packed so far; 0 if the back end does not count them.
  virtual std::int64_t matrix_bytes() const { return 0; }
  // Random numbers in (-scale, scale), for benchmarks: made by the back end where that is faster
  // than uploading them.
  virtual std::unique_ptr<PackedMatrix> pack_random(int out, int in, float scale,
                                                    std::uint64_t seed);

 protected:
  // The numbers of pack_random(), row by row, are these over and over. The block's size is prime,
  // so that rows of a matrix differ.
  static constexpr std::size_t kRandomBlock = 65537;
  static std::vector<float> random_block(float scale, std::uint64_t seed);
};

}  // namespace counterbeam
