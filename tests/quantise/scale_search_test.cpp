// The search for scales against plain rounding and against every code.
#include "quantise/scale_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "quantise/coded_matrix.h"

namespace counterbeam {
namespace {

constexpr CodeFormat kFormats[] = {CodeFormat::Fp8, CodeFormat::Int8, CodeFormat::Int4};
constexpr DType kDTypes[] = {DType::F32, DType::BF16, DType::F16};

std::vector<int> codes_of(CodeFormat format) {
  std::vector<int> codes;
  for (int code = 0; code < 256; ++code) {
    const int value = static_cast<std::int8_t>(code);
    if (format == CodeFormat::Int4 ? value >= -8 && value < 8
                                   : format == CodeFormat::Int8 || (code & 127) != 127)
      codes.push_back(code);
  }
  return codes;
}

double error_of(const std::vector<float>& weights, const std::vector<float>& importance,
                float scale, CodeFormat format) {
  std::vector<std::uint8_t> codes(weights.size());
  encode(weights, scale, format, codes);
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double off = weights[i] - double{decode(codes[i], format)} * scale;
    sum += (importance.empty() ? 1.0 : double{importance[i]}) * off * off;
  }
  return sum;
}

float in_dtype(float value, DType dtype) {
  std::byte bytes[4];
  from_f32({&value, 1}, dtype, bytes);
  float back;
  to_f32(dtype, bytes, {&back, 1});
  return back;
}

struct Groups {
  std::mt19937 random{11};

  // Normal numbers, some with a few that are far larger.
  std::vector<float> weights(std::size_t size, float scale) {
    std::normal_distribution<float> normal(0, scale);
    std::vector<float> values(size);
    for (float& value : values) value = in_dtype(normal(random), DType::BF16);
    if (random() % 3 == 0) values[random() % size] *= 20;
    return values;
  }
  std::vector<float> importance(std::size_t size) {
    std::vector<float> values;
    if (random() % 2 == 0) return values;
    for (std::size_t i = 0; i < size; ++i)
      values.push_back(std::exp(static_cast<float>(random() % 1000) / 100 - 5));
    return values;
  }
};

TEST(ScaleSearch, IsNeverWorseThanPlainRounding) {
  Groups groups;
  int better = 0, all = 0;
  for (const CodeFormat format : kFormats)
    for (const DType dtype : kDTypes)
      for (const std::size_t size : {1u, 7u, 32u, 64u, 100u, 128u, 300u})
        for (int i = 0; i < 40; ++i) {
          const auto weights = groups.weights(size, i % 2 ? 0.02f : 3.0f);
          const auto importance = groups.importance(size);
          const FoundScale found = find_scale(weights, importance, format, dtype);
          const FoundScale plain = plain_scale(weights, importance, format, dtype);
          EXPECT_GT(found.scale, 0);
          EXPECT_EQ(in_dtype(found.scale, dtype), found.scale);
          const double error = error_of(weights, importance, found.scale, format);
          EXPECT_DOUBLE_EQ(found.error, error);
          EXPECT_LE(error, error_of(weights, importance, plain.scale, format));
          better += found.error < plain.error * 0.999;
          ++all;
        }
  EXPECT_GT(better, all / 2);
}

TEST(ScaleSearch, PlainRoundingGivesTheLargestWeightTheLargestCode) {
  const std::vector<float> weights{0.5f, -2, 1};
  EXPECT_EQ(plain_scale(weights, {}, CodeFormat::Int4, DType::F32).scale, 2.0f / 7);
  EXPECT_EQ(plain_scale(weights, {}, CodeFormat::Int8, DType::F32).scale, 2.0f / 127);
  EXPECT_EQ(plain_scale(weights, {}, CodeFormat::Fp8, DType::F32).scale, 2.0f / 448);
}

// A weight between two codes gets one of the two nearest; exactly the nearest but for ties and the
// last bit of the division.
TEST(ScaleSearch, CodesAreTheNearest) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1.3f, 1.3f);
  for (const CodeFormat format : kFormats) {
    const float scale = 1.0f / (format == CodeFormat::Int4   ? 7.0f
                                : format == CodeFormat::Int8 ? 127.0f
                                                             : 448.0f);
    const std::vector<int> all = codes_of(format);
    std::vector<float> weights(2000);
    for (float& weight : weights) weight = uniform(random) * (random() % 2 ? 1.0f : 0.01f);
    std::vector<std::uint8_t> codes(weights.size());
    encode(weights, scale, format, codes);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      double nearest = 1e9;
      for (const int code : all)
        nearest = std::min(
            nearest,
            std::abs(weights[i] - double{decode(static_cast<std::uint8_t>(code), format)} * scale));
      const double off = std::abs(weights[i] - double{decode(codes[i], format)} * scale);
      EXPECT_LE(off, nearest + 1e-6 * scale) << weights[i];
    }
  }
}

TEST(ScaleSearch, WeighsTheErrorsOfWeights) {
  // One large weight that hardly matters: the others get the steps.
  std::vector<float> weights(128, 0.1f), importance(128, 1.0f);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = 0.1f + 0.001f * static_cast<float>(i % 32);
  weights[5] = 2;
  importance[5] = 1e-6f;
  const FoundScale alike = find_scale(weights, {}, CodeFormat::Int4, DType::F32);
  const FoundScale weighed = find_scale(weights, importance, CodeFormat::Int4, DType::F32);
  EXPECT_LT(weighed.scale, alike.scale);
  EXPECT_LT(weighed.error, error_of(weights, importance, alike.scale, CodeFormat::Int4));
}

TEST(ScaleSearch, TakesZerosAndExtremes) {
  for (const CodeFormat format : kFormats)
    for (const DType dtype : kDTypes)
      for (const float size : {0.0f, 1e-45f, 1e-38f, 1e-30f, 6e-8f, 1e-3f, 6e4f, 3e38f}) {
        if (dtype == DType::F16 && size > 65504) continue;
        std::vector<float> weights(64, size);
        weights[1] = -size;
        const FoundScale found = find_scale(weights, {}, format, dtype);
        EXPECT_TRUE(std::isfinite(found.scale) && found.scale > 0) << size;
        std::vector<std::uint8_t> codes(64);
        encode(weights, found.scale, format, codes);
        const double value = double{decode(codes[0], format)} * found.scale;
        // Half precision has no scales for weights near its smallest number.
        const double allowed =
            size < 1e-30f || (dtype == DType::F16 && size < 1e-3f) ? 1.01 * size : 0.08 * size;
        EXPECT_NEAR(value, size, allowed) << name_of(format) << " " << size;
      }
}

TEST(CodedMatrix, DoesNotDependOnThreads) {
  Groups groups;
  const auto values = groups.weights(70 * 256, 0.1f);
  const Tensor dense = Tensor::from_f32(values, DType::BF16, {70, 256});
  for (const CodeFormat format : kFormats) {
    const MatrixScheme scheme{format, format == CodeFormat::Fp8 ? 0 : 64};
    const CodedMatrix one = quantise_matrix(dense.view(), scheme, {}, 1);
    const CodedMatrix three = quantise_matrix(dense.view(), scheme, {}, 3);
    EXPECT_TRUE(
        std::equal(one.codes.data(), one.codes.data() + one.codes.bytes(), three.codes.data()));
    EXPECT_TRUE(
        std::equal(one.scales.data(), one.scales.data() + one.scales.bytes(), three.scales.data()));
    EXPECT_EQ(one.error, three.error);
  }
}

}  // namespace
}  // namespace counterbeam
