#include "quantise/coded_matrix.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/parallel_for.h"

namespace counterbeam {
namespace {

constexpr std::int64_t kRowsAtOnce = 16;

// Puts codes, each moved to be not negative, into words from the low end.
void pack_words(std::span<const std::uint8_t> codes, int bits, std::byte* to) {
  const std::size_t per_word = 32 / static_cast<std::size_t>(bits);
  const std::uint32_t mask = (1u << bits) - 1, middle = 1u << (bits - 1);
  for (std::size_t first = 0; first < codes.size(); first += per_word) {
    const std::size_t count = std::min(per_word, codes.size() - first);
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < count; ++i)
      word |= ((codes[first + i] + middle) & mask) << (i * static_cast<std::size_t>(bits));
    std::memcpy(to + first / per_word * 4, &word, 4);
  }
}

std::byte* row_of(Tensor& matrix, std::int64_t row) {
  return matrix.data() + matrix.bytes() / static_cast<std::size_t>(matrix.shape()[0]) *
                             static_cast<std::size_t>(row);
}

// One row at a time, with room for its numbers.
struct RowCoder {
  const TensorView& dense;
  const MatrixScheme& scheme;
  std::span<const float> importance;
  CodedMatrix& to;

  std::size_t in = static_cast<std::size_t>(dense.shape[1]);
  std::size_t group = scheme.group > 0 ? static_cast<std::size_t>(scheme.group) : in;
  std::vector<float> weights = std::vector<float>(in);
  std::vector<float> scales = std::vector<float>(in / group);
  std::vector<std::uint8_t> codes = std::vector<std::uint8_t>(in);

  void code(std::int64_t row, double& error, double& energy) {
    to_f32(dense.dtype, dense.row(row).data, weights);
    for (std::size_t g = 0; g < scales.size(); ++g) {
      const auto part = std::span<const float>(weights).subspan(g * group, group);
      const auto weigh = importance.empty() ? importance : importance.subspan(g * group, group);
      scales[g] = find_scale(part, weigh, scheme.format, dense.dtype).scale;
      const auto coded = std::span(codes).subspan(g * group, group);
      encode(part, scales[g], scheme.format, coded);
      for (std::size_t i = 0; i < group; ++i) {
        const float value = decode(coded[i], scheme.format) * scales[g];  // as readers compute it
        const double off = double{part[i]} - value;
        error += off * off;
        energy += double{part[i]} * part[i];
      }
    }
    from_f32(scales, dense.dtype, row_of(to.scales, row));
    std::byte* line = row_of(to.codes, row);
    if (scheme.format == CodeFormat::Fp8)
      std::memcpy(line, codes.data(), codes.size());
    else
      pack_words(codes, bits_of(scheme.format), line);
  }
};

}  // namespace

CodedShape coded_shape(std::int64_t out, std::int64_t in, const MatrixScheme& scheme) {
  const std::int64_t groups = scheme.group > 0 ? in / scheme.group : 1;
  if (scheme.format == CodeFormat::Fp8) return {DType::F8E4M3, {out, in}, {out, groups}};
  return {DType::I32, {out, (in * bits_of(scheme.format) + 31) / 32}, {out, groups}};
}

CodedMatrix quantise_matrix(const TensorView& dense, const MatrixScheme& scheme,
                            std::span<const float> importance, int workers) {
  const std::int64_t out = dense.shape[0], in = dense.shape[1];
  CB_CHECK(is_weight_dtype(dense.dtype) && (scheme.group == 0 || in % scheme.group == 0));
  CB_CHECK(importance.empty() || static_cast<std::int64_t>(importance.size()) == in);
  const CodedShape shape = coded_shape(out, in, scheme);
  CodedMatrix matrix{Tensor(shape.codes, shape.codes_shape),
                     Tensor(dense.dtype, shape.scales_shape)};
  const auto chunks = static_cast<std::size_t>((out + kRowsAtOnce - 1) / kRowsAtOnce);
  std::vector<double> errors(chunks), energies(chunks);
  parallel_for(chunks, workers, [&](std::size_t chunk) {
    RowCoder coder{dense, scheme, importance, matrix};
    const std::int64_t first = static_cast<std::int64_t>(chunk) * kRowsAtOnce;
    for (std::int64_t row = first; row < std::min(out, first + kRowsAtOnce); ++row)
      coder.code(row, errors[chunk], energies[chunk]);
  });
  for (std::size_t i = 0; i < chunks; ++i) {
    matrix.error += errors[i];
    matrix.energy += energies[i];
  }
  return matrix;
}

}  // namespace counterbeam
