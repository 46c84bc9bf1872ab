// The codes of a cache of 8 bits: how far a number is from what is read back, and that what is not
// finite is never read as a number.
#include "backend/cache_codes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "cpu_support.h"

namespace counterbeam {
namespace {

std::vector<float> read_back(CacheType type, const std::vector<float>& numbers) {
  const HeadCoder coder(type, numbers.data(), static_cast<int>(numbers.size()));
  std::vector<float> read;
  for (const float number : numbers)
    read.push_back(code_value(type, coder.code(number)) * coder.scale());
  return read;
}

float largest_of(const std::vector<float>& numbers) {
  float largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::abs(number));
  return largest;
}

TEST(CacheCodes, Int8IsOffByAtMostHalfAStep) {
  for (const float size : {1e-28f, 1e-3f, 1.0f, 3e4f, 3e38f}) {
    std::vector<float> numbers = Numbers(3).many(128);
    for (float& number : numbers) number *= size;
    const std::vector<float> read = read_back(CacheType::Int8, numbers);
    const double step = double(largest_of(numbers)) / 127;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      EXPECT_LE(std::abs(double(read[i]) - double(numbers[i])), 0.5001 * step) << i;
  }
}

TEST(CacheCodes, Fp8IsOffByAtMostASixteenth) {
  for (const float size : {1e-28f, 1e-3f, 1.0f, 3e4f, 3e38f}) {
    std::vector<float> numbers = Numbers(4).many(128);
    for (float& number : numbers) number *= size;
    const std::vector<float> read = read_back(CacheType::Fp8, numbers);
    // Below 2^-6 the steps of E4M3 are 2^-9.
    const double least = double(largest_of(numbers)) / 448 * 0x1p-10;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      EXPECT_LE(std::abs(double(read[i]) - double(numbers[i])),
                std::max(least, std::abs(double(numbers[i])) / 16) * 1.0001)
          << i;
  }
}

TEST(CacheCodes, TheLargestNumberKeepsItsValueAndZerosStayZero) {
  for (const CacheType type : {CacheType::Fp8, CacheType::Int8}) {
    const std::vector<float> read = read_back(type, {0.0f, -3.7f, 1.0f, -0.0f});
    EXPECT_EQ(read[0], 0);
    EXPECT_NEAR(read[1], -3.7f, 1e-6f);
    EXPECT_EQ(read[3], 0);
    for (const float tiny : {0.0f, 1e-38f, 1e-42f}) {
      for (const float zero : read_back(type, {tiny, -tiny, 0.0f})) EXPECT_EQ(zero, 0);
    }
  }
}

TEST(CacheCodes, WhatIsNotFiniteMakesTheWholeHeadNaN) {
  for (const CacheType type : {CacheType::Fp8, CacheType::Int8}) {
    for (const float bad : {std::nanf(""), -std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
      for (const float read : read_back(type, {1.0f, bad, 0.0f, -2.0f}))
        EXPECT_TRUE(std::isnan(read));
    }
  }
}

}  // namespace
}  // namespace counterbeam
