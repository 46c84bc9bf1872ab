// Packs quantised matrices into panels of codes (CodePanels in kernels.h), and unpacks single rows.
#pragma once

#include <span>

#include "backend/cpu/packing.h"

namespace counterbeam {

// Fills the panels of a matrix whose sizes, precision and form are set. False if its numbers are
// not all finite: panels of codes cannot hold an FP8 code that is NaN.
bool pack_codes(CpuMatrix& matrix, std::span<const StoredMatrix> parts, ThreadPool& pool,
                bool integers);

// Row `row` as floats into out [in]: rounded to bf16 as products see them, if that is the
// precision.
void unpack_codes(float* out, const CpuMatrix& matrix, int row);

}  // namespace counterbeam
