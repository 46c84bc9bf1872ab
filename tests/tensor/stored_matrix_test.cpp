#include "tensor/stored_matrix.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace counterbeam {
namespace {

TEST(StoredMatrix, ReadsPartsOfRowsOfEveryWeightType) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  for (const DType dtype : {DType::F32, DType::BF16, DType::F16}) {
    const Tensor tensor = Tensor::from_f32(values, dtype, {3, 4});
    const StoredMatrix matrix = tensor.view();
    EXPECT_EQ(matrix.out(), 3);
    EXPECT_EQ(matrix.in(), 4);
    std::vector<float> row(2);
    matrix.read_row(1, 2, row);
    EXPECT_EQ(row, (std::vector<float>{7, 8})) << name_of(dtype);
  }
}

TEST(StoredMatrix, OnlyMatricesOfWeightTypes) {
  EXPECT_THROW(StoredMatrix(Tensor(DType::F32, {4}).view()), Error);
  for (const DType dtype : {DType::F64, DType::I8, DType::F8E4M3})
    EXPECT_THROW(StoredMatrix(Tensor(dtype, {2, 2}).view()), Error) << name_of(dtype);
}

TEST(StoredMatrix, PartsOfOneWidthStack) {
  const Tensor a(DType::F32, {3, 4}), b(DType::BF16, {2, 4}), c(DType::F32, {2, 5});
  const StoredMatrix fit[] = {a.view(), b.view()}, unfit[] = {a.view(), c.view()};
  EXPECT_EQ(stacked_rows(fit), 5);
  EXPECT_THROW(stacked_rows(unfit), Error);
}

}  // namespace
}  // namespace counterbeam
