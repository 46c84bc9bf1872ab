#include "model/random_codes.h"

#include <algorithm>
#include <cmath>
#include <deque>

namespace counterbeam {
namespace {

constexpr int kBlock = 128;

// A matrix whose scales are its own.
struct OwnedScales {
  Tensor scales;
  ScaledMatrix matrix{};
};

// Everything but the codes.
OwnedScales make_scales(CodeKind kind, int out, int in) {
  OwnedScales owned;
  ScaledMatrix& m = owned.matrix;
  m.out = out;
  m.in = in;
  m.bits = kind == CodeKind::Int4 ? 4 : 8;
  m.group = kind == CodeKind::Int8 ? in : std::min(kBlock, in);
  m.groups = (in + m.group - 1) / m.group;
  m.scale_rows = kind == CodeKind::E4M3 ? kBlock : 1;
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

RandomCodes::RandomCodes(DType dtype, CodeKind kind, Tables tables, std::uint64_t seed)
    : RandomWeights(dtype, seed), kind_(kind), tables_(tables), state_(seed) {}

// Any bits will do: a fast generator rather than a good one.
const std::byte* RandomCodes::words(std::size_t count, std::uint64_t mask) {
  if (mask != mask_) words_.clear();
  mask_ = mask;
  words_.reserve(count);
  while (words_.size() < count) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    words_.push_back((state_ ^ (state_ >> 29)) & mask);
  }
  return reinterpret_cast<const std::byte*>(words_.data());
}

std::optional<CodeKind> RandomCodes::kind_named(std::string_view name) {
  if (name == "int8") return CodeKind::Int8;
  if (name == "int4") return CodeKind::Int4;
  if (name == "fp8") return CodeKind::E4M3;
  return std::nullopt;
}

std::unique_ptr<PackedMatrix> RandomCodes::pack(WeightOps& ops, std::span<const Rows> parts,
                                                int in) {
  if (tables_ == Tables::Plain && is_table(parts[0].name))
    return RandomWeights::pack(ops, parts, in);
  const CodeKind kind = kind_ == CodeKind::Int4 && is_table(parts[0].name) ? CodeKind::Int8 : kind_;
  const bool int4 = kind == CodeKind::Int4;
  const std::int64_t width = int4 ? (in + 7) / 8 : in;  // words or bytes of a row
  int most = 0;
  for (const Rows& part : parts) most = std::max(most, part.out);
  // FP8: without the upper bit of the exponent, numbers are below 2 and never NaN.
  const std::byte* data = words((static_cast<std::size_t>(most * width) * (int4 ? 4 : 1) + 7) / 8,
                                kind == CodeKind::E4M3 ? 0xbfbfbfbfbfbfbfbfu : ~std::uint64_t{0});
  std::deque<OwnedScales> owned;
  std::vector<StoredMatrix> matrices;
  for (const Rows& part : parts) {
    ScaledMatrix& m = owned.emplace_back(make_scales(kind, part.out, in)).matrix;
    m.layout = int4 ? ScaledMatrix::Values::PackedRows : ScaledMatrix::Values::Bytes;
    const DType bytes = kind == CodeKind::Int8 ? DType::I8 : DType::F8E4M3;
    m.values = {int4 ? DType::I32 : bytes, {part.out, width}, data};
    matrices.push_back(m);
  }
  return ops.pack(matrices);
}

}  // namespace counterbeam
