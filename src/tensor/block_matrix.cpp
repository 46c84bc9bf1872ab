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

const std::byte* row_start(const BlockMatrix& m, int row) {
  const auto stored = m.rows.empty() ? row : m.rows[static_cast<std::size_t>(row)];
  return m.data + static_cast<std::size_t>(stored) * row_bytes_of(m.type, m.in);
}

// Calls use(i, group, l, count) for the runs of [first, first + size) that lie in one stored group:
// elements i to i + count are those from l on of the group.
template <typename Use>
void each_run(const BlockMatrix& m, int first, std::size_t size, Use use) {
  for (std::size_t i = 0; i < size;) {
    const std::size_t column = static_cast<std::size_t>(first) + i;
    const auto place = m.columns.empty() ? static_cast<int>(column) : m.columns[column];
    const int l = place % kBlockGroup;
    std::size_t count = std::min(static_cast<std::size_t>(kBlockGroup - l), size - i);
    if (!m.columns.empty())
      for (std::size_t next = 1; next < count; ++next)
        if (m.columns[column + next] != place + static_cast<int>(next)) count = next;
    use(i, place / kBlockGroup, static_cast<std::size_t>(l), count);
    i += count;
  }
}

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
  const std::byte* start = row_start(*this, row);
  each_run(*this, first, to.size(),
           [&](std::size_t i, int group, std::size_t l, std::size_t count) {
             if (count == kBlockGroup) return decode_codes(type, start, group, to.data() + i);
             std::uint8_t codes[kBlockGroup];
             decode_codes(type, start, group, codes);
             std::copy_n(codes + l, count, to.data() + i);
           });
}

void BlockMatrix::read_scales(int row, std::span<float> scales, std::span<float> offsets) const {
  const CodeLayout layout = codes();
  const std::byte* start = row_start(*this, row);
  GroupScales own;
  int decoded = -1;
  for (int group = 0; group < layout.groups; ++group) {
    // Where columns do not move in whole groups, they look for their group where it is stored.
    const int column = group * layout.group;
    const int place =
        columns.empty() || layout.ordered ? column : columns[static_cast<std::size_t>(column)];
    if (place / kBlockGroup != decoded)
      decode_scales(type, start, decoded = place / kBlockGroup, own);
    const std::size_t half = static_cast<std::size_t>(place % kBlockGroup / 16);
    scales[static_cast<std::size_t>(group)] = own.scale[half];
    if (!offsets.empty()) offsets[static_cast<std::size_t>(group)] = own.offset[half];
  }
}

void BlockMatrix::read_order(std::span<std::int32_t> to) const {
  const CodeLayout layout = codes();
  for (std::size_t j = 0; j < to.size(); ++j)
    to[j] = (layout.ordered ? columns[j] : static_cast<std::int32_t>(j)) / layout.group;
}

void BlockMatrix::read(int row, int first, std::span<float> to) const {
  const BlockEntry& entry = block_entry(type);
  const std::byte* start = row_start(*this, row);
  each_run(*this, first, to.size(),
           [&](std::size_t i, int group, std::size_t l, std::size_t count) {
             std::uint8_t codes[kBlockGroup];
             GroupScales own;
             decode_codes(type, start, group, codes);
             decode_scales(type, start, group, own);
             for (; count > 0; --count, ++l, ++i) {
               const float value = entry.kind == CodeKind::Int4
                                       ? entry.table[codes[l]]
                                       : static_cast<float>(static_cast<std::int8_t>(codes[l]));
               const float product = value * own.scale[l / 16];
               to[i] = product + own.offset[l / 16];
             }
           });
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
