// Blocks of GGUF: every type against gguf-py's decoding (golden/blocks.jsonl, written by
// tools/gguf_parity.py), and as codes with scales, with rows and columns in other orders.
#include "tensor/block_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>

#include "base/json.h"
#include "tensor/stored_matrix.h"

namespace counterbeam {
namespace {

std::vector<std::byte> from_base64(const std::string& text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::byte> bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char digit : text) {
    if (digit == '=') break;
    bits = bits << 6 | static_cast<std::uint32_t>(kDigits.find(digit));
    if ((count += 6) >= 8) bytes.push_back(static_cast<std::byte>(bits >> (count -= 8) & 0xff));
  }
  return bytes;
}

struct Golden {
  GgmlType type;
  std::vector<std::byte> blocks;
  std::vector<float> values;
};

std::vector<Golden> read_golden() {
  std::ifstream file(std::string(COUNTERBEAM_SOURCE_DIR) + "/tests/tensor/golden/blocks.jsonl");
  std::vector<Golden> all;
  for (std::string line; std::getline(file, line);) {
    const Json json = parse_json(line, "blocks.jsonl");
    Golden golden;
    for (std::uint32_t number = 0; number < 64; ++number)
      if (const GgmlTypeInfo* info = find_ggml_type(number); info && info->name == json["type"])
        golden.type = info->type;
    golden.blocks = from_base64(json["blocks"]);
    const std::vector<std::byte> values = from_base64(json["values"]);
    golden.values.resize(values.size() / 4);
    std::memcpy(golden.values.data(), values.data(), values.size());
    all.push_back(std::move(golden));
  }
  return all;
}

std::vector<float> row_of(const StoredMatrix& matrix, int row) {
  std::vector<float> values(static_cast<std::size_t>(matrix.in()));
  matrix.read_row(row, 0, values);
  return values;
}

// The row from its codes, scales and offsets.
std::vector<float> row_by_codes(const StoredMatrix& matrix, int row) {
  const CodeLayout layout = *matrix.codes();
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(matrix.in()));
  std::vector<float> scales(static_cast<std::size_t>(layout.groups)), offsets(scales.size());
  std::vector<std::int32_t> order(codes.size());
  matrix.read_codes(row, 0, codes);
  matrix.read_scales(row, scales, layout.offsets ? std::span(offsets) : std::span<float>());
  matrix.read_order(order);
  std::vector<float> values(codes.size());
  for (std::size_t j = 0; j < codes.size(); ++j) {
    if (!layout.ordered) {
      EXPECT_EQ(order[j], static_cast<int>(j) / layout.group);
    }
    const auto group = static_cast<std::size_t>(order[j]);
    const float value = layout.kind == CodeKind::Int4
                            ? layout.table.at(codes[j])
                            : static_cast<float>(static_cast<std::int8_t>(codes[j]));
    const float product = value * scales[group];
    values[j] = product + offsets[group];
  }
  return values;
}

TEST(BlockMatrix, EveryTypeDecodesAsGgufPyDoes) {
  const std::vector<Golden> all = read_golden();
  ASSERT_EQ(all.size(), 12u);
  for (const Golden& golden : all) {
    SCOPED_TRACE(name_of(golden.type));
    EXPECT_TRUE(is_block_type(golden.type));
    const int in = static_cast<int>(golden.values.size());
    const StoredMatrix matrix(BlockMatrix{1, in, golden.type, golden.blocks.data()});
    EXPECT_EQ(row_of(matrix, 0), golden.values);
    EXPECT_EQ(row_by_codes(matrix, 0), golden.values);
    EXPECT_EQ(row_bytes_of(golden.type, in), golden.blocks.size());
    EXPECT_EQ(first_non_finite_block(golden.type, golden.blocks), std::nullopt);
    for (int first = 0; first < in; first += 37) {
      std::vector<float> part(static_cast<std::size_t>(std::min(41, in - first)));
      matrix.read_row(0, first, part);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), golden.values.begin() + first));
    }
  }
}

TEST(BlockMatrix, RowsAndColumnsInAnyOrder) {
  std::mt19937 random(3);
  for (const Golden& golden : read_golden()) {
    SCOPED_TRACE(name_of(golden.type));
    const auto half = golden.values.size() / 2;
    const bool two_rows = info_of(golden.type).elements == 32;
    const int in = static_cast<int>(two_rows ? half : golden.values.size());
    const std::vector<std::int32_t> rows{1, 0};
    std::vector<std::int32_t> columns(static_cast<std::size_t>(in));
    for (const int step : {32, 16, 1}) {  // moves whole groups, their halves, single columns
      std::vector<std::int32_t> places(static_cast<std::size_t>(in / step));
      std::iota(places.begin(), places.end(), 0);
      std::shuffle(places.begin(), places.end(), random);
      for (std::size_t j = 0; j < columns.size(); ++j)
        columns[j] = places[j / static_cast<std::size_t>(step)] * step + static_cast<int>(j) % step;
      const StoredMatrix matrix(BlockMatrix{two_rows ? 2 : 1, in, golden.type, golden.blocks.data(),
                                            two_rows ? std::span(rows) : std::span<std::int32_t>(),
                                            columns});
      std::vector<float> expected;
      for (const std::int32_t column : columns)
        expected.push_back(golden.values[static_cast<std::size_t>(column) + (two_rows ? half : 0)]);
      EXPECT_EQ(row_of(matrix, 0), expected) << step;
      EXPECT_EQ(row_by_codes(matrix, 0), expected) << step;
      EXPECT_EQ(matrix.codes()->ordered, step < matrix.codes()->group) << step;
    }
  }
}

TEST(BlockMatrix, FindsScalesThatAreNotFinite) {
  for (Golden golden : read_golden()) {
    std::fill(golden.blocks.begin(), golden.blocks.end(), std::byte{0});
    EXPECT_EQ(first_non_finite_block(golden.type, golden.blocks), std::nullopt);
    const std::size_t bytes = info_of(golden.type).bytes, last = golden.blocks.size() / bytes - 1;
    std::fill(golden.blocks.end() - static_cast<std::ptrdiff_t>(bytes), golden.blocks.end(),
              std::byte{0xff});
    EXPECT_EQ(first_non_finite_block(golden.type, golden.blocks), static_cast<std::int64_t>(last));
  }
}

TEST(DenseMatrix, RowsAndColumnsInAnyOrder) {
  std::vector<float> numbers(12);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    const Tensor values = Tensor::from_f32(numbers, dtype, {3, 4});
    const std::vector<std::int32_t> rows{2, 0, 1}, columns{3, 1, 0, 2};
    const StoredMatrix matrix(DenseMatrix{values.view(), rows, columns});
    EXPECT_EQ(row_of(matrix, 0), (std::vector<float>{11, 9, 8, 10}));
    std::vector<float> part(2);
    matrix.read_row(1, 1, part);
    EXPECT_EQ(part, (std::vector<float>{1, 0}));
    EXPECT_FALSE(matrix.codes().has_value());
  }
}

}  // namespace
}  // namespace counterbeam
