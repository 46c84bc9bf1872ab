#include "tensor/block_matrix.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tensor/block_groups.h"

namespace counterbeam {
namespace {

// The values of the codes of IQ4_NL and IQ4_XS.
constexpr std::array<float, 16> kNonLinear{-127, -104, -83, -65, -49, -35, -22, -10,
                                           1,    13,   25,  38,  53,  69,  89,  113};

struct BlockEntry {
  GgmlType type;
  CodeKind kind;
  int group;  // elements with the same scale
  bool offsets;
  std::array<float, 16> table{};
  std::array<int, 2> halves;  // where a block has its float16 scales; -1: only one
};
constexpr std::array<float, 16> kFromZero = int4_values(false), kCentred = int4_values(true);
constexpr BlockEntry kBlockTypes[] = {
    {GgmlType::Q2_K, CodeKind::Int4, 16, true, kFromZero, {80, 82}},
    {GgmlType::Q3_K, CodeKind::Int4, 16, false, kCentred, {108, -1}},
    {GgmlType::Q4_0, CodeKind::Int4, 32, false, kCentred, {0, -1}},
    {GgmlType::Q4_1, CodeKind::Int4, 32, true, kFromZero, {0, 2}},
    {GgmlType::Q4_K, CodeKind::Int4, 32, true, kFromZero, {0, 2}},
    {GgmlType::Q5_0, CodeKind::Int8, 32, false, {}, {0, -1}},
    {GgmlType::Q5_1, CodeKind::Int8, 32, true, {}, {0, 2}},
    {GgmlType::Q5_K, CodeKind::Int8, 32, true, {}, {0, 2}},
    {GgmlType::Q6_K, CodeKind::Int8, 16, false, {}, {208, -1}},
    {GgmlType::Q8_0, CodeKind::Int8, 32, false, {}, {0, -1}},
    {GgmlType::IQ4_NL, CodeKind::Int4, 32, false, kNonLinear, {0, -1}},
    {GgmlType::IQ4_XS, CodeKind::Int4, 32, false, kNonLinear, {0, -1}},
};

const BlockEntry* find_block_type(GgmlType type) {
  const auto found = std::find_if(std::begin(kBlockTypes), std::end(kBlockTypes),
                                  [&](const BlockEntry& entry) { return entry.type == type; });
  return found == std::end(kBlockTypes) ? nullptr : found;
}

const BlockEntry& block_entry(GgmlType type) {
  const BlockEntry* entry = find_block_type(type);
  CB_CHECK(entry != nullptr);
  return *entry;
}

// Walks along a row, column by column, and decodes every group once.
class RowWalk {
 public:
  RowWalk(const BlockMatrix& m, int row)
      : m_(m),
        row_(m.data + static_cast<std::size_t>(m.rows.empty() ? row : stored(m.rows, row)) *
                          row_bytes_of(m.type, m.in)) {}

  // The index of a column inside group(), which is then decoded.
  std::size_t at(int column) {
    const int place = m_.columns.empty() ? column : stored(m_.columns, column);
    if (place / kBlockGroup != decoded_) {
      decoded_ = place / kBlockGroup;
      decode_group(m_.type, row_, decoded_, group_);
    }
    return static_cast<std::size_t>(place % kBlockGroup);
  }
  const BlockGroup& group() const { return group_; }

 private:
  static std::int32_t stored(std::span<const std::int32_t> order, int index) {
    return order[static_cast<std::size_t>(index)];
  }

  const BlockMatrix& m_;
  const std::byte* row_;
  int decoded_ = -1;
  BlockGroup group_;
};

// Whether elements that share a scale stay together.
bool moves_whole_groups(const BlockMatrix& m, int group) {
  for (std::size_t j = 0; j < m.columns.size(); ++j) {
    const std::size_t first = j - j % static_cast<std::size_t>(group);
    if (m.columns[j] / group != m.columns[first] / group) return false;
  }
  return true;
}

}  // namespace

bool is_block_type(GgmlType type) {
  return find_block_type(type) != nullptr;
}

std::string block_type_names() {
  std::string names;
  for (const BlockEntry& entry : kBlockTypes)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(entry.type));
  return names;
}

std::size_t row_bytes_of(GgmlType type, std::int64_t in) {
  const GgmlTypeInfo& info = info_of(type);
  return static_cast<std::size_t>(in) / info.elements * info.bytes;
}

CodeLayout BlockMatrix::codes() const {
  const BlockEntry& entry = block_entry(type);
  return {.kind = entry.kind,
          .group = entry.group,
          .groups = in / entry.group,
          .offsets = entry.offsets,
          .ordered = !moves_whole_groups(*this, entry.group),
          .table = entry.table};
}

void BlockMatrix::read_codes(int row, int first, std::span<std::uint8_t> to) const {
  RowWalk walk(*this, row);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t l = walk.at(first + static_cast<int>(i));
    to[i] = walk.group().codes[l];
  }
}

void BlockMatrix::read_scales(int row, std::span<float> scales, std::span<float> offsets) const {
  const CodeLayout layout = codes();
  BlockMatrix plain = *this;
  if (layout.ordered) plain.columns = {};  // columns look for their group, wherever it is
  RowWalk walk(plain, row);
  for (int group = 0; group < layout.groups; ++group) {
    const std::size_t half = walk.at(group * layout.group) / 16;
    scales[static_cast<std::size_t>(group)] = walk.group().scale[half];
    if (!offsets.empty()) offsets[static_cast<std::size_t>(group)] = walk.group().offset[half];
  }
}

void BlockMatrix::read_order(std::span<std::int32_t> to) const {
  const CodeLayout layout = codes();
  for (std::size_t j = 0; j < to.size(); ++j)
    to[j] = (layout.ordered ? columns[j] : static_cast<std::int32_t>(j)) / layout.group;
}

void BlockMatrix::read(int row, int first, std::span<float> to) const {
  const BlockEntry& entry = block_entry(type);
  RowWalk walk(*this, row);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t l = walk.at(first + static_cast<int>(i));
    const std::uint8_t code = walk.group().codes[l];
    const float value = entry.kind == CodeKind::Int4
                            ? entry.table[code]
                            : static_cast<float>(static_cast<std::int8_t>(code));
    const float product = value * walk.group().scale[l / 16];
    to[i] = product + walk.group().offset[l / 16];
  }
}

std::optional<std::int64_t> first_non_finite_block(GgmlType type, std::span<const std::byte> data) {
  const BlockEntry& entry = block_entry(type);
  const std::size_t bytes = info_of(type).bytes;
  for (std::size_t block = 0; block < data.size() / bytes; ++block)
    for (const int place : entry.halves)
      if (place >= 0 &&
          !std::isfinite(half_at(data.data() + block * bytes + static_cast<std::size_t>(place))))
        return static_cast<std::int64_t>(block);
  return std::nullopt;
}

}  // namespace counterbeam
