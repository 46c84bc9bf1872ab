// Every layout of ScaledMatrix against codes, zero points and scales that are packed here, from the
// descriptions of the formats; and float8.h against the definition of its numbers.
#include "tensor/scaled_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "tensor/float8.h"
#include "tensor/stored_matrix.h"

namespace counterbeam {
namespace {

TEST(Float8, E4M3HasTheValuesOfItsDefinition) {
  for (int bits = 0; bits < 256; ++bits) {
    const int exponent = bits >> 3 & 15, fraction = bits & 7;
    const double magnitude = exponent == 0 ? fraction * std::ldexp(1.0, -9)
                                           : (8 + fraction) * std::ldexp(1.0, exponent - 10);
    const float value = from_e4m3(static_cast<std::uint8_t>(bits));
    if ((bits & 127) == 127) {
      EXPECT_TRUE(std::isnan(value));
    } else {
      EXPECT_EQ(value, static_cast<float>(bits < 128 ? magnitude : -magnitude)) << bits;
      EXPECT_EQ(std::signbit(value), bits >= 128);
    }
  }
  EXPECT_EQ(from_e4m3(0x7e), 448.0f);
}

TEST(Float8, ToE4M3IsTheNearest) {
  for (int bits = 0; bits < 256; ++bits) {
    const auto code = static_cast<std::uint8_t>(bits);
    const float value = from_e4m3(code);
    if (is_nan_e4m3(code)) {
      EXPECT_TRUE(is_nan_e4m3(to_e4m3(value)));
      continue;
    }
    EXPECT_EQ(to_e4m3(value), code);
    if ((bits & 127) == 126) continue;
    // Between a number and the next: the nearer one, and in the middle the even one.
    const auto next = static_cast<std::uint8_t>(bits + 1);
    const float middle = (value + from_e4m3(next)) / 2;
    EXPECT_EQ(to_e4m3(middle), bits % 2 ? next : code);
    EXPECT_EQ(to_e4m3(std::nextafter(middle, value)), code);
    EXPECT_EQ(to_e4m3(std::nextafter(middle, from_e4m3(next))), next);
  }
  EXPECT_EQ(to_e4m3(1e9f), 0x7e);
  EXPECT_EQ(to_e4m3(-INFINITY), 0xfe);
  EXPECT_TRUE(is_nan_e4m3(to_e4m3(NAN)));
}

TEST(Float8, E8M0IsAPowerOfTwo) {
  for (int bits = 0; bits < 255; ++bits)
    EXPECT_EQ(from_e8m0(static_cast<std::uint8_t>(bits)), std::ldexp(1.0f, bits - 127)) << bits;
  EXPECT_TRUE(std::isnan(from_e8m0(255)));
}

// A matrix of random codes and its tensors in one of the layouts.
struct Example {
  int out, in, bits, group;
  int groups = (in + group - 1) / group;
  std::vector<int> codes{}, zeros{}, order{};  // [out, in], [out, groups], [in]
  std::vector<float> scales{};                 // [out, groups]
  std::mt19937 random{7};

  void fill(bool ordered) {
    const auto upto = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    for (int i = 0; i < out * in; ++i) codes.push_back(upto(1 << bits));
    for (int i = 0; i < out * groups; ++i) {
      zeros.push_back(1 + upto((1 << bits) - 1));
      scales.push_back(from_f16(to_f16(0.01f * static_cast<float>(1 + upto(100)))));
    }
    for (int j = 0; j < in; ++j) order.push_back(ordered ? upto(groups) : j / group);
  }
  float value(int i, int j, bool symmetric) const {
    const int g = i * groups + order[static_cast<std::size_t>(j)];
    const int zero = symmetric ? 1 << (bits - 1) : zeros[static_cast<std::size_t>(g)];
    return static_cast<float>(codes[static_cast<std::size_t>(i * in + j)] - zero) *
           scales[static_cast<std::size_t>(g)];
  }
};

// Writes fields into words: `place` gives the word and the bit of every element of [rows, columns].
std::vector<std::uint32_t> packed(std::size_t words, const std::vector<int>& fields, int columns,
                                  const std::function<std::pair<int, int>(int, int)>& place) {
  std::vector<std::uint32_t> to(words);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto [word, bit] = place(static_cast<int>(i) / columns, static_cast<int>(i) % columns);
    to[static_cast<std::size_t>(word)] |= static_cast<std::uint32_t>(fields[i]) << bit;
  }
  return to;
}

TensorView words_of(const std::vector<std::uint32_t>& words) {
  return {DType::I32,
          {static_cast<std::int64_t>(words.size())},
          reinterpret_cast<const std::byte*>(words.data())};
}

void expect_same(const Example& e, const ScaledMatrix& scaled, bool symmetric) {
  const StoredMatrix matrix = scaled;
  ASSERT_EQ(matrix.out(), e.out);
  ASSERT_EQ(matrix.in(), e.in);
  const CodeLayout layout = *matrix.codes();
  std::vector<float> row(static_cast<std::size_t>(e.in)), part(3), scales(e.groups),
      offsets(static_cast<std::size_t>(e.groups));
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(e.in));
  std::vector<std::int32_t> order(static_cast<std::size_t>(e.in));
  matrix.read_order(order);
  for (int i = 0; i < e.out; ++i) {
    matrix.read_row(i, 0, row);
    matrix.read_row(i, 2, part);
    matrix.read_codes(i, 0, codes);
    matrix.read_scales(i, scales, offsets);
    for (int j = 0; j < e.in; ++j) {
      const auto at = static_cast<std::size_t>(j);
      EXPECT_EQ(row[at], e.value(i, j, symmetric)) << i << ", " << j;
      const auto g = static_cast<std::size_t>(order[at]);
      const float code = layout.kind == CodeKind::Int4
                             ? layout.table[codes[at]]
                             : static_cast<float>(static_cast<std::int8_t>(codes[at]));
      EXPECT_EQ(std::fma(code, scales[g], offsets[g]), row[at]) << i << ", " << j;
    }
    EXPECT_EQ(part, std::vector<float>(row.begin() + 2, row.begin() + 5));
  }
}

TEST(ScaledMatrix, PackedAlongRows) {
  for (const int bits : {4, 8})
    for (const bool symmetric : {true, false})
      for (const bool ordered : {true, false}) {
        Example e{.out = 11, .in = 45, .bits = bits, .group = 9};
        e.fill(ordered);
        const int width = (e.in * bits + 31) / 32, per = 32 / bits;
        const auto values =
            packed(static_cast<std::size_t>(e.out * width), e.codes, e.in,
                   [&](int i, int j) { return std::pair(i * width + j / per, j % per * bits); });
        const auto zeros =
            packed(static_cast<std::size_t>((e.out + per - 1) / per * e.groups), e.zeros, e.groups,
                   [&](int i, int g) { return std::pair(i / per * e.groups + g, i % per * bits); });
        const Tensor scales = Tensor::from_f32(e.scales, DType::F16, {e.out, e.groups});
        ScaledMatrix m{.out = e.out, .in = e.in, .bits = bits};
        m.layout = ScaledMatrix::Values::PackedRows;
        m.values = words_of(values);
        m.scales = scales.view();
        m.group = e.group;
        m.groups = e.groups;
        m.zero_layout = symmetric ? ScaledMatrix::Zeros::Fixed : ScaledMatrix::Zeros::DownRows;
        m.zeros = words_of(zeros);
        if (ordered) m.order = reinterpret_cast<const std::byte*>(e.order.data());
        expect_same(e, m, symmetric);
      }
}

TEST(ScaledMatrix, Gptq) {
  for (const int bits : {4, 8})
    for (const int shift : {0, 1}) {
      Example e{.out = 16, .in = 48, .bits = bits, .group = 16};
      e.fill(shift == 1);
      const int per = 32 / bits;
      const auto values =
          packed(static_cast<std::size_t>(e.in / per * e.out), e.codes, e.in,
                 [&](int i, int j) { return std::pair(j / per * e.out + i, j % per * bits); });
      std::vector<int> stored = e.zeros;
      for (int& zero : stored) zero -= shift;
      const auto zeros = packed(
          static_cast<std::size_t>(e.groups * e.out / per), stored, e.groups,
          [&](int i, int g) { return std::pair(g * (e.out / per) + i / per, i % per * bits); });
      std::vector<float> turned(e.scales.size());
      for (int i = 0; i < e.out; ++i)
        for (int g = 0; g < e.groups; ++g) turned[g * e.out + i] = e.scales[i * e.groups + g];
      const Tensor scales = Tensor::from_f32(turned, DType::F16, {e.groups, e.out});
      ScaledMatrix m{.out = e.out, .in = e.in, .bits = bits};
      m.layout = ScaledMatrix::Values::PackedInputs;
      m.values = words_of(values);
      m.scales = scales.view();
      m.by_group = true;
      m.group = e.group;
      m.groups = e.groups;
      m.zero_layout = ScaledMatrix::Zeros::AlongRows;
      m.zeros = words_of(zeros);
      m.zeros_less_one = shift == 1;
      if (shift == 1) m.order = reinterpret_cast<const std::byte*>(e.order.data());
      expect_same(e, m, false);
    }
}

// GPTQModel subtracts 1 from all fields of a word at once, so a zero point of 0 borrows.
TEST(ScaledMatrix, GptqZeroPointsBorrowBetweenFields) {
  for (const int bits : {4, 8}) {
    const int count = 32 / bits;
    std::uint32_t zero_points = 0, ones = 0;
    std::vector<int> zeros;
    for (int i = 0; i < count; ++i) {
      zeros.push_back(i % 3 == 0 ? 0 : i);
      zero_points |= static_cast<std::uint32_t>(zeros.back()) << (i * bits);
      ones |= 1u << (i * bits);
    }
    const std::vector<std::uint32_t> values(static_cast<std::size_t>(count)),
        stored{zero_points - ones};
    const Tensor scales = Tensor::from_f32(
        std::vector<float>(static_cast<std::size_t>(count), 1.0f), DType::F16, {1, count});
    ScaledMatrix m{.out = count, .in = 32 / bits, .bits = bits};
    m.layout = ScaledMatrix::Values::PackedInputs;
    m.values = words_of(values);
    m.scales = scales.view();
    m.by_group = true;
    m.group = m.in;
    m.zero_layout = ScaledMatrix::Zeros::AlongRows;
    m.zeros = words_of(stored);
    m.zeros_less_one = true;
    for (int i = 0; i < count; ++i) {
      float value = 1;
      StoredMatrix(m).read_row(i, 0, {&value, 1});
      EXPECT_EQ(value, static_cast<float>(-zeros[static_cast<std::size_t>(i)])) << bits << " " << i;
    }
  }
}

TEST(ScaledMatrix, ZeroPointsOfPackedCodesAsBytes) {
  for (const int bits : {4, 8}) {
    const std::vector<std::uint32_t> values{0};
    const std::int8_t zero = -3;
    const Tensor scales = Tensor::from_f32(std::vector<float>{2.0f}, DType::F16, {1, 1});
    ScaledMatrix m{.out = 1, .in = 32 / bits, .bits = bits};
    m.layout = ScaledMatrix::Values::PackedRows;
    m.values = words_of(values);
    m.scales = scales.view();
    m.group = m.in;
    m.zero_layout = ScaledMatrix::Zeros::Bytes;
    m.zeros = {DType::I8, {1, 1}, reinterpret_cast<const std::byte*>(&zero)};
    float value = 0;
    StoredMatrix(m).read_row(0, 0, {&value, 1});
    EXPECT_EQ(value, 2.0f * static_cast<float>(3 - (1 << (bits - 1))));
  }
}

TEST(ScaledMatrix, Awq) {
  Example e{.out = 24, .in = 40, .bits = 4, .group = 10};
  e.fill(false);
  constexpr int kColumn[8] = {0, 2, 4, 6, 1, 3, 5, 7};  // column of the p-th field of a word
  const auto bit_of = [&](int column) {
    for (int p = 0; p < 8; ++p)
      if (kColumn[p] == column % 8) return 4 * p;
    return -1;
  };
  const auto values =
      packed(static_cast<std::size_t>(e.in * e.out / 8), e.codes, e.in,
             [&](int i, int j) { return std::pair(j * (e.out / 8) + i / 8, bit_of(i)); });
  const auto zeros =
      packed(static_cast<std::size_t>(e.groups * e.out / 8), e.zeros, e.groups,
             [&](int i, int g) { return std::pair(g * (e.out / 8) + i / 8, bit_of(i)); });
  std::vector<float> turned(e.scales.size());
  for (int i = 0; i < e.out; ++i)
    for (int g = 0; g < e.groups; ++g) turned[g * e.out + i] = e.scales[i * e.groups + g];
  const Tensor scales = Tensor::from_f32(turned, DType::F16, {e.groups, e.out});
  ScaledMatrix m{.out = e.out, .in = e.in, .bits = 4};
  m.layout = ScaledMatrix::Values::PackedOutputs;
  m.values = words_of(values);
  m.scales = scales.view();
  m.by_group = true;
  m.group = e.group;
  m.groups = e.groups;
  m.zero_layout = ScaledMatrix::Zeros::AwqOrder;
  m.zeros = words_of(zeros);
  expect_same(e, m, false);
}

TEST(ScaledMatrix, Fp8WithRaggedBlocks) {
  constexpr int kOut = 5, kIn = 7, kRows = 2, kGroup = 3;  // a grid of 3 by 3 blocks
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < kOut * kIn; ++i) bytes.push_back(static_cast<std::uint8_t>(i * 7 % 127));
  const std::vector<float> grid{1, 2, 4, 0.5, 0.25, 8, 16, 32, 64};
  ScaledMatrix m{.out = kOut, .in = kIn};
  m.values = {DType::F8E4M3, {kOut, kIn}, reinterpret_cast<const std::byte*>(bytes.data())};
  m.scale_rows = kRows;
  m.group = kGroup;
  m.groups = 3;
  std::vector<std::uint8_t> powers;
  for (const float scale : grid)
    powers.push_back(static_cast<std::uint8_t>(127 + std::lround(std::log2(scale))));
  const Tensor floats = Tensor::from_f32(grid, DType::BF16, {3, 3});
  for (const TensorView& scales :
       {floats.view(),
        TensorView{DType::F8E8M0, {3, 3}, reinterpret_cast<const std::byte*>(powers.data())}}) {
    m.scales = scales;
    const StoredMatrix matrix = m;
    EXPECT_EQ(matrix.codes()->kind, CodeKind::E4M3);
    std::vector<float> row(kIn);
    for (int i = 0; i < kOut; ++i) {
      matrix.read_row(i, 0, row);
      for (int j = 0; j < kIn; ++j)
        EXPECT_EQ(row[static_cast<std::size_t>(j)],
                  from_e4m3(bytes[static_cast<std::size_t>(i * kIn + j)]) *
                      grid[static_cast<std::size_t>(i / kRows * 3 + j / kGroup)]);
    }
  }
}

TEST(ScaledMatrix, SignedBytesWithZeroPoints) {
  const std::vector<std::int8_t> values{-128, 127, 3, -4, 5, 6}, zeros{-5, 7};
  const Tensor scales = Tensor::from_f32(std::vector<float>{0.5f, 2.0f}, DType::F32, {2, 1});
  ScaledMatrix m{.out = 2, .in = 3};
  m.values = {DType::I8, {2, 3}, reinterpret_cast<const std::byte*>(values.data())};
  m.scales = scales.view();
  m.group = 3;
  m.zero_layout = ScaledMatrix::Zeros::Bytes;
  m.zeros = {DType::I8, {2, 1}, reinterpret_cast<const std::byte*>(zeros.data())};
  std::vector<float> row(3);
  m.read(0, 0, row);
  EXPECT_EQ(row, (std::vector<float>{-61.5f, 66, 4}));
  m.read(1, 0, row);
  EXPECT_EQ(row, (std::vector<float>{-22, -4, -2}));
}

}  // namespace
}  // namespace counterbeam
