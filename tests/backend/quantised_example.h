// Random quantised matrices for tests, in the layouts of the formats.
#pragma once

#include <random>
#include <vector>

#include "tensor/stored_matrix.h"

namespace counterbeam::testing {

// A matrix that owns its tensors. Move only as a whole: matrix() points into it.
struct QuantisedExample {
  enum class Kind { Int8, Int4, Fp8 };
  struct Options {
    Kind kind = Kind::Int8;
    int out = 0, in = 0;
    int group = 0;         // 0: all of a row
    bool zeros = false;    // zero points
    bool ordered = false;  // inputs belong to groups in any order
    int scale_rows = 1;
    std::uint32_t seed = 1;
  };

  explicit QuantisedExample(const Options& options) : o(options) {
    std::mt19937 random(o.seed);
    const int group = o.group > 0 ? o.group : o.in, groups = (o.in + group - 1) / group;
    const bool half = o.kind == Kind::Int4;
    const int words = (o.in * 4 + 31) / 32;
    values.resize(static_cast<std::size_t>(o.out) *
                  static_cast<std::size_t>(half ? words * 4 : o.in));
    for (std::uint8_t& byte : values) {
      byte = static_cast<std::uint8_t>(random());
      if (o.kind == Kind::Fp8 && (byte & 0x7f) == 0x7f) byte = 0;
      if (o.kind == Kind::Fp8) byte &= 0xbf;  // below 2, so that no number stands out
    }
    const int lines = (o.out + o.scale_rows - 1) / o.scale_rows;
    std::vector<float> numbers;
    for (int i = 0; i < lines * groups; ++i)
      numbers.push_back(0.001f * static_cast<float>(1 + random() % 100));
    scales = Tensor::from_f32(numbers, DType::F16, {lines, groups});
    zeros.resize(static_cast<std::size_t>(half ? (o.out + 7) / 8 * 4 : lines) *
                 static_cast<std::size_t>(groups));
    for (std::uint8_t& byte : zeros) byte = static_cast<std::uint8_t>(random());
    for (int j = 0; j < o.in; ++j)
      order.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(groups)));
    m.out = o.out;
    m.in = o.in;
    m.bits = half ? 4 : 8;
    m.layout = half ? ScaledMatrix::Values::PackedRows : ScaledMatrix::Values::Bytes;
    const DType bytes = o.kind == Kind::Fp8 ? DType::F8E4M3 : DType::I8;
    m.values = half ? TensorView{DType::I32, {o.out, words}, data(values)}
                    : TensorView{bytes, {o.out, o.in}, data(values)};
    m.scales = scales.view();
    m.scale_rows = o.scale_rows;
    m.group = group;
    m.groups = groups;
    if (o.zeros) {
      m.zero_layout = half ? ScaledMatrix::Zeros::DownRows : ScaledMatrix::Zeros::Bytes;
      m.zeros = {half ? DType::I32 : DType::I8, {}, data(zeros)};
    }
    if (o.ordered) m.order = reinterpret_cast<const std::byte*>(order.data());
  }
  QuantisedExample(const QuantisedExample&) = delete;

  StoredMatrix matrix() const { return m; }
  // The same numbers, not quantised.
  Tensor dense() const {
    Tensor tensor(DType::F32, {o.out, o.in});
    const auto in = static_cast<std::size_t>(o.in);
    for (int row = 0; row < o.out; ++row)
      matrix().read_row(row, 0,
                        tensor.values<float>().subspan(static_cast<std::size_t>(row) * in, in));
    return tensor;
  }

  Options o;
  std::vector<std::uint8_t> values, zeros;
  std::vector<std::int32_t> order;
  Tensor scales;
  ScaledMatrix m;

 private:
  static const std::byte* data(const std::vector<std::uint8_t>& bytes) {
    return reinterpret_cast<const std::byte*>(bytes.data());
  }
};

}  // namespace counterbeam::testing
