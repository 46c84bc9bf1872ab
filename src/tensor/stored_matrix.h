// A weight matrix [out, in] as a checkpoint stores it, not decoded. Model sources give these, back
// ends pack them.
//
// Every format is one alternative of `Format`. There is one today; the quantised formats become
// further ones: values with scales per block (FP8), values with scales, zero points and an order of
// groups (int8, int4, GPTQ, AWQ), self-contained blocks of a row (GGUF). An alternative is a struct
// of views in the layout of its format, not one struct with many fields: the layouts differ in
// which side is packed and in the order of the fields of a word, and a back end that multiplies by
// quantised weights wants the bytes as they are. Two things are asked of an alternative: its shape,
// and a read_row() that decodes a part of a row to float32. A back end without a better way packs
// from read_row(). One with a better way uses std::visit, so that a new alternative does not
// compile until that back end says how it handles it.
#pragma once

#include <span>
#include <variant>

#include "tensor/tensor.h"

namespace counterbeam {

// F32, BF16 and F16: the numbers of dense weights.
bool is_weight_dtype(DType dtype);

// Plain numbers, row-major. is_weight_dtype() holds.
struct DenseMatrix {
  TensorView values;  // [out, in]
};

class StoredMatrix {
 public:
  using Format = std::variant<DenseMatrix>;

  // Implicit: a dense tensor is a matrix. Throws an Error if it does not have two dimensions or a
  // dtype of weights. The view must outlive this.
  StoredMatrix(const TensorView& dense);

  int out() const { return out_; }
  int in() const { return in_; }
  const Format& format() const { return format_; }

  // Decodes the elements [first, first + to.size()) of a row. REQUIRES that they exist.
  void read_row(int row, int first, std::span<float> to) const;

 private:
  int out_ = 0, in_ = 0;
  Format format_;
};

// How many rows the parts have when they are stacked into one matrix. Throws an Error if they
// differ in width. REQUIRES at least one part.
int stacked_rows(std::span<const StoredMatrix> parts);

}  // namespace counterbeam
