#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace counterbeam {
namespace {

// Finds the nearest value of `decode` by search in double precision; ties go to the even code.
template <typename Decode>
std::uint16_t nearest_by_search(float value, Decode decode, std::uint16_t infinity) {
  std::uint16_t low = 0, high = infinity;  // magnitudes increase with their codes
  const double magnitude = std::fabs(static_cast<double>(value));
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (static_cast<double>(decode(middle)) <= magnitude ? low : high) = middle;
  }
  const double below = decode(low);
  const double step = below - static_cast<double>(decode(static_cast<std::uint16_t>(low - 1)));
  const double above = high == infinity ? below + step : static_cast<double>(decode(high));
  const double down = magnitude - below, up = above - magnitude;
  std::uint16_t code = down < up || (down == up && low % 2 == 0) ? low : high;
  if (std::isinf(value)) code = infinity;
  return static_cast<std::uint16_t>(code | (std::signbit(value) ? 0x8000 : 0));
}

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i <= static_cast<int>(DType::C64); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_named(name_of(dtype)), dtype);
  }
  EXPECT_FALSE(dtype_named("bf16"));
  EXPECT_EQ(bits_of(DType::F4), 4);
  EXPECT_EQ(bits_of(DType::C64), 64);
  EXPECT_EQ(bytes_of(DType::BF16), 2u);
}

TEST(Bf16, EveryValueRoundTrips) {
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const auto bits = static_cast<std::uint16_t>(code);
    const float value = from_bf16(bits);
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(from_bf16(to_bf16(value))));
    else
      EXPECT_EQ(to_bf16(value), bits);
  }
}

TEST(F16, EveryValueRoundTrips) {
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const auto bits = static_cast<std::uint16_t>(code);
    const float value = from_f16(bits);
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(from_f16(to_f16(value))));
    else
      EXPECT_EQ(to_f16(value), bits) << code;
  }
  EXPECT_EQ(from_f16(0x3c00), 1.0f);
  EXPECT_EQ(from_f16(0x7bff), 65504.0f);
  EXPECT_EQ(from_f16(0x0001), 0x1p-24f);
}

TEST(Rounding, IsNearestTiesToEven) {
  // A sample of all float32 values, with the ties and their neighbours around each.
  for (std::uint32_t high = 0; high < 0x10000; high += 7)
    for (const std::uint32_t low : {0u, 1u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u,
                                    0x9000u, 0xf000u, 0xffffu}) {
      const auto value = std::bit_cast<float>(high << 16 | low);
      if (std::isnan(value)) continue;
      ASSERT_EQ(to_bf16(value), nearest_by_search(value, from_bf16, 0x7f80)) << value;
      ASSERT_EQ(to_f16(value), nearest_by_search(value, from_f16, 0x7c00)) << value;
    }
}

TEST(Convert, IntegersAndDoublesUnaligned) {
  std::vector<std::byte> memory(1 + 3 * 8);
  const auto put = [&](auto a, auto b, auto c) {
    const decltype(a) values[] = {a, b, c};
    std::memcpy(memory.data() + 1, values, sizeof values);
  };
  const auto get = [&](DType dtype) {
    std::vector<float> out(3);
    to_f32(dtype, memory.data() + 1, out);
    return out;
  };
  put(std::int64_t{-5}, std::int64_t{0}, std::int64_t{1} << 40);
  EXPECT_EQ(get(DType::I64), (std::vector<float>{-5, 0, 0x1p40f}));
  put(std::int8_t{-128}, std::int8_t{127}, std::int8_t{1});
  EXPECT_EQ(get(DType::I8), (std::vector<float>{-128, 127, 1}));
  EXPECT_EQ(get(DType::U8), (std::vector<float>{128, 127, 1}));
  put(0.1, -2.5, 1e300);
  EXPECT_EQ(get(DType::F64),
            (std::vector<float>{0.1f, -2.5f, std::numeric_limits<float>::infinity()}));
  EXPECT_FALSE(converts_to_f32(DType::F8E4M3));
  EXPECT_TRUE(converts_to_f32(DType::Bool));
}

}  // namespace
}  // namespace counterbeam
