// Weights in the panels that kernels.h describes, made from tensors of any float type, and rows
// taken back out of them.
#pragma once

#include <span>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/memory.h"
#include "backend/ops.h"
#include "base/thread_pool.h"

namespace counterbeam {

struct CpuMatrix : PackedMatrix {
  Precision precision = Precision::F32;
  int depth = 0;  // `in`, padded
  Memory panels;

  int panel_count() const { return round_up(out, kPanel) / kPanel; }
  std::size_t panel_bytes() const {
    return static_cast<std::size_t>(depth) * kPanel * (precision == Precision::F32 ? 4 : 2);
  }
};

struct CpuVector : Vector {
  std::vector<float> values;
  // [size / taps][taps] turned into [taps][size / taps], when first asked for.
  const float* by_tap(int taps) const;

 private:
  mutable std::vector<float> by_tap_;
};

// Stacks the parts along their first dimension. Parts that are no matrices of one width, or hold
// no numbers, are an error.
std::unique_ptr<CpuMatrix> pack_matrix(std::span<const TensorView> parts, Precision precision,
                                       ThreadPool& pool);

// Row `row` as floats into out [in].
void unpack_row(float* out, const CpuMatrix& matrix, int row);

}  // namespace counterbeam
