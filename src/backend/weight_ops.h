// The part of a back end that takes weights: matrices are packed and vectors uploaded once, while a
// model is loaded. The packed layout is private to the back end.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "tensor/stored_matrix.h"

namespace counterbeam {

// A weight matrix [out, in] in the back end's packed form.
class PackedMatrix {
 public:
  virtual ~PackedMatrix() = default;
  int out = 0;
  int in = 0;
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

  // Throws an Error with both sizes if this many weight elements do not fit into memory.
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
};

}  // namespace counterbeam
