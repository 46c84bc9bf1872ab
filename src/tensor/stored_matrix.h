// A weight matrix [out, in] as a checkpoint stores it, not decoded. Model sources give these, back
// ends pack them.
//
// Every format is one alternative of `Format`: a struct of views in the layout of the file. Each
// offers read(), which decodes a part of a row to float32, and the quantised ones also describe
// themselves as codes with scales (code_layout.h). A back end packs from read_row(), or keeps the
// codes and packs from codes(), read_codes() and read_scales(); neither needs to know the format.
#pragma once

#include <optional>
#include <span>
#include <variant>

#include "tensor/block_matrix.h"
#include "tensor/code_layout.h"
#include "tensor/scaled_matrix.h"
#include "tensor/tensor.h"

namespace counterbeam {

// F32, BF16 and F16: the numbers of dense weights.
bool is_weight_dtype(DType dtype);

// Plain numbers, row-major. is_weight_dtype() holds.
struct DenseMatrix {
  TensorView values;  // [out, in]
  // Row i is the stored row rows[i], and column j the stored column columns[j]; empty: as stored.
  std::span<const std::int32_t> rows{}, columns{};

  bool is_moved() const { return !rows.empty() || !columns.empty(); }
};

class StoredMatrix {
 public:
  using Format = std::variant<DenseMatrix, ScaledMatrix, BlockMatrix>;

  // Implicit: a dense tensor is a matrix. Throws an Error if it does not have two dimensions or a
  // dtype of weights. The view must outlive this.
  StoredMatrix(const TensorView& dense);
  explicit StoredMatrix(const DenseMatrix& dense);
  // Quantised. The caller has checked that the views fit each other, and they must outlive this.
  StoredMatrix(const ScaledMatrix& scaled);
  StoredMatrix(const BlockMatrix& blocks);

  int out() const { return out_; }
  int in() const { return in_; }
  const Format& format() const { return format_; }

  // Decodes the elements [first, first + to.size()) of a row. REQUIRES that they exist.
  void read_row(int row, int first, std::span<float> to) const;

  // None for dense weights.
  std::optional<CodeLayout> codes() const;
  // The codes of [first, first + to.size()) of a row, one per byte, and the scales of all groups of
  // a row, and the offsets if the layout has them. REQUIRES codes(), and that they exist.
  void read_codes(int row, int first, std::span<std::uint8_t> to) const;
  void read_scales(int row, std::span<float> scales, std::span<float> offsets) const;
  // The group of every input. REQUIRES codes() and to.size() == in().
  void read_order(std::span<std::int32_t> to) const;

 private:
  int out_ = 0, in_ = 0;
  Format format_;
};

// How many rows the parts have when they are stacked into one matrix. Throws an Error if they
// differ in width. REQUIRES at least one part.
int stacked_rows(std::span<const StoredMatrix> parts);

}  // namespace counterbeam
