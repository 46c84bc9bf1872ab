#include "model/random_codes.h"

#include <cmath>
#include <cstring>
#include <deque>

namespace counterbeam {
namespace {

constexpr int kBlock = 128;

// A matrix and the memory that it points to.
struct OwnedCodes {
  std::vector<std::uint64_t> values;
  Tensor scales;
  ScaledMatrix matrix{};
};

// Any bits will do: a fast generator rather than a good one.
void fill(std::vector<std::uint64_t>& words, std::uint64_t state, std::uint64_t mask) {
  for (std::uint64_t& word : words) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    word = (state ^ (state >> 29)) & mask;
  }
}

OwnedCodes make_codes(CodeKind kind, int out, int in, std::uint64_t seed) {
  OwnedCodes owned;
  ScaledMatrix& m = owned.matrix;
  m.out = out;
  m.in = in;
  m.bits = kind == CodeKind::Int4 ? 4 : 8;
  m.group = kind == CodeKind::Int8 ? in : std::min(kBlock, in);
  m.groups = (in + m.group - 1) / m.group;
  m.scale_rows = kind == CodeKind::E4M3 ? kBlock : 1;
  const std::int64_t width = kind == CodeKind::Int4 ? (in + 7) / 8 : in;  // words or bytes of a row
  const std::int64_t bytes = out * width * (kind == CodeKind::Int4 ? 4 : 1);
  owned.values.resize(static_cast<std::size_t>((bytes + 7) / 8));
  // FP8: without the upper bit of the exponent, numbers are below 2 and never NaN.
  fill(owned.values, seed, kind == CodeKind::E4M3 ? 0xbfbfbfbfbfbfbfbfu : ~std::uint64_t{0});
  const auto* data = reinterpret_cast<const std::byte*>(owned.values.data());
  if (kind == CodeKind::Int4) {
    m.layout = ScaledMatrix::Values::PackedRows;
    m.values = {DType::I32, {out, width}, data};
  } else {
    m.values = {kind == CodeKind::Int8 ? DType::I8 : DType::F8E4M3, {out, width}, data};
  }
  const int lines = (out + m.scale_rows - 1) / m.scale_rows;
  const float largest = kind == CodeKind::Int4 ? 8 : kind == CodeKind::Int8 ? 128 : 2;
  const float scale = std::sqrt(3.0f / static_cast<float>(in)) / largest;
  const std::vector<float> scales(static_cast<std::size_t>(lines) * std::size_t(m.groups), scale);
  owned.scales = Tensor::from_f32(scales, DType::BF16, {lines, m.groups});
  m.scales = owned.scales.view();
  return owned;
}

bool is_table(const std::string& name) {
  return name.starts_with("lm_head.") || name.find("embed_tokens.") != std::string::npos;
}

}  // namespace

RandomCodes::RandomCodes(DType dtype, CodeKind kind, std::uint64_t seed)
    : RandomWeights(dtype, seed), kind_(kind), codes_{.seed = seed} {}

std::optional<CodeKind> RandomCodes::kind_named(std::string_view name) {
  if (name == "int8") return CodeKind::Int8;
  if (name == "int4") return CodeKind::Int4;
  if (name == "fp8") return CodeKind::E4M3;
  return std::nullopt;
}

std::unique_ptr<PackedMatrix> RandomCodes::pack(WeightOps& ops, std::span<const Rows> parts,
                                                int in) {
  std::deque<OwnedCodes> owned;
  std::vector<StoredMatrix> matrices;
  for (const Rows& part : parts) {
    const CodeKind kind = kind_ == CodeKind::Int4 && is_table(part.name) ? CodeKind::Int8 : kind_;
    owned.push_back(make_codes(kind, part.out, in, codes_.seed + ++codes_.position));
    matrices.push_back(owned.back().matrix);
  }
  return ops.pack(matrices);
}

}  // namespace counterbeam
