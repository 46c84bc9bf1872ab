#include "tensor/stored_matrix.h"

#include "base/error.h"

namespace counterbeam {
namespace {

void read(const DenseMatrix& matrix, int row, int first, std::span<float> to) {
  const TensorView& values = matrix.values;
  const std::byte* from = values.row(row).data;
  to_f32(values.dtype, from + static_cast<std::size_t>(first) * bytes_of(values.dtype), to);
}

DenseMatrix checked(const TensorView& view) {
  if (view.shape.rank() != 2)
    bad_input("weights of shape {} are not a matrix", view.shape.to_string());
  if (!is_weight_dtype(view.dtype))
    bad_input("weights of dtype {} cannot be used; convert them to BF16, F16 or F32",
              name_of(view.dtype));
  return {view};
}

}  // namespace

bool is_weight_dtype(DType dtype) {
  return dtype == DType::F32 || dtype == DType::BF16 || dtype == DType::F16;
}

StoredMatrix::StoredMatrix(const TensorView& dense) : format_(checked(dense)) {
  out_ = static_cast<int>(dense.shape[0]);
  in_ = static_cast<int>(dense.shape[1]);
}

void StoredMatrix::read_row(int row, int first, std::span<float> to) const {
  std::visit([&](const auto& format) { read(format, row, first, to); }, format_);
}

int stacked_rows(std::span<const StoredMatrix> parts) {
  int rows = 0;
  for (const StoredMatrix& part : parts) {
    if (part.in() != parts[0].in())
      bad_input("weights [{}, {}] cannot be stacked under weights [{}, {}]", part.out(), part.in(),
                parts[0].out(), parts[0].in());
    rows += part.out();
  }
  return rows;
}

}  // namespace counterbeam
