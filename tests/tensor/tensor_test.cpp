#include "tensor/tensor.h"

#include <gtest/gtest.h>

namespace counterbeam {
namespace {

TEST(Shape, CountsElementsAndRejectsOverflow) {
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ((Shape{2, 3, 4}).elements(), 24);
  EXPECT_EQ((Shape{2, 0}).elements(), 0);
  EXPECT_EQ((Shape{2, 3}).to_string(), "[2, 3]");
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  const std::int64_t huge[] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  EXPECT_FALSE(Shape::checked(huge));
  const std::int64_t negative[] = {-1};
  EXPECT_FALSE(Shape::checked(negative));
  const std::int64_t deep[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_FALSE(Shape::checked(deep));
}

TEST(Tensor, IsZeroedAlignedAndCopiedExplicitly) {
  Tensor tensor(DType::F32, {3, 5});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0u);
  for (const float value : tensor.values<float>()) EXPECT_EQ(value, 0.0f);
  tensor.values<float>()[7] = 2.5f;
  const Tensor copy = tensor.copy();
  tensor.values<float>()[7] = 0;
  EXPECT_EQ(copy.values<float>()[7], 2.5f);
  EXPECT_EQ(to_f32(copy.view().row(1)), (std::vector<float>{0, 0, 2.5f, 0, 0}));
}

TEST(Tensor, RoundsFromFloat) {
  const float values[] = {1.0f, 1.00390625f, -3.0f};
  const Tensor tensor = Tensor::from_f32(values, DType::BF16, {3});
  EXPECT_EQ(tensor.bytes(), 6u);
  EXPECT_EQ(to_f32(tensor.view()), (std::vector<float>{1.0f, 1.0f, -3.0f}));
}

}  // namespace
}  // namespace counterbeam
