// Packs matrices into the weight panels of kernels.h, and unpacks single rows (for embeddings).
// Quantised matrices that have a common form (code_form.h) stay codes, all others become numbers.
#pragma once

#include <span>
#include <vector>

#include "backend/code_form.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/memory.h"
#include "backend/ops.h"
#include "base/thread_pool.h"

namespace counterbeam {

struct CpuMatrix : PackedMatrix {
  Precision precision = Precision::F32;
  int depth = 0;  // `in`, padded
  Memory panels;
  std::optional<CodeForm> form;  // of codes; none: numbers
  CodePanels codes;              // points into `form`
  bool takes_integers() const { return form && codes.chunk > 0; }

  int panel_count() const { return round_up(out, kPanel) / kPanel; }
  std::size_t panel_bytes() const {
    if (form) return static_cast<std::size_t>(codes.panel_bytes());
    return static_cast<std::size_t>(depth) * kPanel * (precision == Precision::F32 ? 4 : 2);
  }
};

struct CpuVector : Vector {
  std::vector<float> values;
  // The values [size / taps][taps] transposed to [taps][size / taps], on first use.
  const float* by_tap(int taps) const;

 private:
  mutable std::vector<float> by_tap_;
};

// Stacks the parts along their first dimension. Throws an Error if they differ in width. With
// `integers`, codes that are whole numbers are packed for IntegerKernels.
std::unique_ptr<CpuMatrix> pack_matrix(std::span<const StoredMatrix> parts, Precision precision,
                                       ThreadPool& pool, bool integers = false);

// The bf16 matrix [out, in] whose numbers, row by row, are those of `block` over and over.
std::unique_ptr<CpuMatrix> pack_repeated(std::span<const float> block, int out, int in,
                                         ThreadPool& pool);

// Row `row` as floats into out [in].
void unpack_row(float* out, const CpuMatrix& matrix, int row);

}  // namespace counterbeam
