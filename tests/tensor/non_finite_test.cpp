#include "tensor/non_finite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace counterbeam {
namespace {

TEST(NonFinite, TheFirstIsFoundInEveryFormatAndPlace) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const DType dtype : {DType::F32, DType::BF16, DType::F16})
    for (const int count : {1, 7, 1024, 1025, 5000}) {
      std::vector<float> values(static_cast<std::size_t>(count), -3.5f);
      values[0] = 60000;  // large, but finite in every format
      values[values.size() / 2] = 1e-7f;
      EXPECT_FALSE(first_non_finite(Tensor::from_f32(values, dtype, {count}).view()));
      for (const float bad : {NAN, kInfinity, -kInfinity})
        for (const int place : {0, count / 2, count - 1}) {
          std::vector<float> damaged = values;
          damaged[static_cast<std::size_t>(place)] = damaged.back() = bad;
          const Tensor tensor = Tensor::from_f32(damaged, dtype, {count});
          EXPECT_EQ(first_non_finite(tensor.view()), place);
          EXPECT_FALSE(std::isfinite(value_at(tensor.view(), place)));
        }
    }
}

TEST(NonFinite, DataNeedNotBeAligned) {
  std::vector<std::byte> bytes(4 * 9 + 1, std::byte{0});
  for (int i = 1; i <= 4; ++i) bytes[static_cast<std::size_t>(4 * 6 + i)] = std::byte{0xff};
  EXPECT_EQ(first_non_finite({DType::F32, {9}, bytes.data() + 1}), 6);
}

}  // namespace
}  // namespace counterbeam
