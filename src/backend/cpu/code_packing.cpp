#include "backend/cpu/code_packing.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "backend/int8_rows.h"
#include "tensor/float8.h"

namespace counterbeam {
namespace {

constexpr float kFp8Scale = 256;  // decoding gives FP8 numbers times 2^-8

// Where the codes and scales of a panel lie.
class PanelPlaces {
 public:
  PanelPlaces(const CodePanels& codes, Precision precision, std::byte* panel)
      : codes_(codes),
        inputs_(codes.chunk > 0                ? 4
                : precision == Precision::Bf16 ? 2
                                               : 1),
        panel_(panel) {}

  float* scales(int group) const {
    return reinterpret_cast<float*>(panel_ +
                                    (codes_.order ? group * codes_.head_bytes() : run(group)));
  }
  float* offsets(int group) const { return scales(group) + kPanel; }

  // The byte of a code, and whether it is in the upper half.
  std::byte* code(int input, int column, bool& upper) const {
    const int group = codes_.order ? 0 : std::min(input / codes_.group, codes_.groups - 1);
    std::byte* start = codes_.order ? panel_ + codes_.groups * codes_.head_bytes()
                                    : panel_ + run(group) + codes_.head_bytes();
    const int at = codes_.order ? input : input - group * codes_.group;
    const int line = at / inputs_, width = kPanel * inputs_;
    const bool half = codes_.kind == CodeKind::Int4;
    upper = half && line % 2 == 1;
    return start + std::ptrdiff_t{half ? line / 2 : line} * width + column * inputs_ + at % inputs_;
  }

 private:
  std::ptrdiff_t run(int group) const {
    return group * (codes_.head_bytes() + codes_.code_bytes(codes_.group));
  }

  const CodePanels& codes_;
  int inputs_;  // of a line
  std::byte* panel_;
};

// A row of one of the parts.
struct PartRow {
  const StoredMatrix* part;
  int row;
};

std::vector<PartRow> part_rows(std::span<const StoredMatrix> parts) {
  std::vector<PartRow> rows;
  for (const StoredMatrix& part : parts)
    for (int row = 0; row < part.out(); ++row) rows.push_back({&part, row});
  return rows;
}

// Zero points that are whole numbers of this range, if they are to be subtracted from the codes.
bool whole_zeros(const CodeForm& form, std::span<const float> scales,
                 std::span<const float> offsets) {
  if (!form.offsets) return true;
  const float least = form.kind == CodeKind::Int4 ? 0 : -128;
  const float most = form.kind == CodeKind::Int4 ? 15 : 128;
  for (std::size_t g = 0; g < scales.size(); ++g) {
    if (scales[g] == 0 && offsets[g] == 0) continue;
    const float zero = std::nearbyint(-offsets[g] / scales[g]);
    if (!(zero >= least && zero <= most) || -zero * scales[g] != offsets[g]) return false;
  }
  return true;
}

// What CodePanels::late asks of the form.
bool suits_late_scales(const CodeForm& form, int depth) {
  constexpr int kLeast = 64;
  if (!form.order.empty()) return false;
  if (form.groups > 1 && (form.group < kLeast || form.group % kDepthStep != 0)) return false;
  if (depth < kLeast && form.groups > 1) return false;
  if (form.kind != CodeKind::Int4) return true;
  if (form.offsets) return form.table == int4_values(false);
  return std::all_of(form.table.begin(), form.table.end(),
                     [](float value) { return from_bf16(to_bf16(value)) == value; });
}

class PanelPacker {
 public:
  PanelPacker(const CpuMatrix& matrix, std::byte* panel)
      : matrix_(matrix),
        form_(*matrix.form),
        places_(matrix.codes, matrix.precision, panel),
        flipped_{static_cast<unsigned char>(matrix.codes.chunk > 0 ? 128 : 0)} {}

  bool has_whole_zeros() const { return whole_zeros_; }
  // False if a code is NaN.
  bool pack(std::span<const PartRow> rows) {
    pack_scales(rows);
    constexpr int kChunk = 256;
    std::uint8_t codes[kChunk];
    bool finite = true;
    for (int first = 0; first < matrix_.in; first += kChunk) {
      const int count = std::min(kChunk, matrix_.in - first);
      for (int column = 0; column < static_cast<int>(rows.size()); ++column) {
        const auto& [part, row] = rows[static_cast<std::size_t>(column)];
        read_codes(form_, *part, row, first, {codes, static_cast<std::size_t>(count)});
        finite = put(codes, first, count, column) && finite;
      }
    }
    return finite;
  }

 private:
  void pack_scales(std::span<const PartRow> rows) {
    const float factor = form_.kind == CodeKind::E4M3 ? kFp8Scale : 1;
    std::vector<float> scales(static_cast<std::size_t>(form_.groups)), offsets(scales.size());
    for (std::size_t column = 0; column < rows.size(); ++column) {
      read_scales(form_, *rows[column].part, rows[column].row, scales, offsets);
      whole_zeros_ = whole_zeros_ && whole_zeros(form_, scales, offsets);
      for (int g = 0; g < form_.groups; ++g) {
        places_.scales(g)[column] = scales[static_cast<std::size_t>(g)] * factor;
        if (form_.offsets) places_.offsets(g)[column] = offsets[static_cast<std::size_t>(g)];
      }
    }
  }

  bool put(const std::uint8_t* codes, int first, int count, int column) {
    bool finite = true;
    for (int i = 0; i < count; ++i) {
      bool upper;
      std::byte* to = places_.code(first + i, column, upper);
      if (form_.kind != CodeKind::Int4)
        *to = std::byte{codes[i]} ^ flipped_;
      else
        *to |= upper ? std::byte{codes[i]} << 4 : std::byte{codes[i]} & std::byte{15};
      finite = finite && !(form_.kind == CodeKind::E4M3 && is_nan_e4m3(codes[i]));
    }
    return finite;
  }

  const CpuMatrix& matrix_;
  const CodeForm& form_;
  PanelPlaces places_;
  const std::byte flipped_;  // bits of Int8
  bool whole_zeros_ = true;
};

// Tiles read up to a tile beyond the last panel.
constexpr std::size_t kBeyond = 2048;

// The layout for IntegerKernels, if the codes are whole numbers.
void pack_for_integers(CodePanels& codes, const CodeForm& form, int in) {
  const std::optional<WholeCodes> whole = whole_codes(form);
  if (!whole) return;
  codes.chunk = whole->chunk;
  codes.chunks = (in + whole->chunk - 1) / whole->chunk;
  codes.zero = whole->zero;
  codes.lookup = whole->lookup;
  codes.bytes = whole->table;
}

}  // namespace

bool pack_codes(CpuMatrix& matrix, std::span<const StoredMatrix> parts, ThreadPool& pool,
                bool integers) {
  CodeForm& form = *matrix.form;
  CodePanels& codes = matrix.codes;
  codes.kind = form.kind;
  codes.depth = matrix.depth;
  codes.offsets = form.offsets;
  codes.groups = form.groups;
  codes.group = form.groups > 1 && form.order.empty() ? form.group : matrix.depth;
  codes.table = form.table.data();
  if (!form.order.empty()) {
    form.order.resize(static_cast<std::size_t>(matrix.depth));  // padded inputs are zero
    codes.order = form.order.data();
  }
  if (integers) pack_for_integers(codes, form, matrix.in);
  const std::vector<PartRow> rows = part_rows(parts);
  const auto panel_bytes = static_cast<std::size_t>(codes.panel_bytes());
  matrix.panels = Memory(panel_bytes * static_cast<std::size_t>(matrix.panel_count()) +
                         (codes.chunk > 0 ? kBeyond : 0));
  std::atomic<bool> finite{true}, late{suits_late_scales(form, matrix.depth)};
  pool.split(matrix.panel_count(), 1, [&](int begin, int end) {
    for (int panel = begin; panel < end; ++panel) {
      const std::size_t first = std::size_t(panel) * kPanel;
      const auto here =
          std::span(rows).subspan(first, std::min<std::size_t>(kPanel, rows.size() - first));
      PanelPacker packer(matrix, matrix.panels.data() + std::size_t(panel) * panel_bytes);
      if (!packer.pack(here)) finite = false;
      if (!packer.has_whole_zeros()) late = false;
    }
  });
  codes.late = late && codes.chunk == 0;
  return finite;
}

void unpack_codes(float* out, const CpuMatrix& matrix, int row) {
  const CodePanels& codes = matrix.codes;
  std::byte* panel = matrix.panels.data() + std::size_t(row / kPanel) * matrix.panel_bytes();
  const PanelPlaces places(codes, matrix.precision, panel);
  const int column = row % kPanel;
  for (int i = 0; i < matrix.in; ++i) {
    const int group = codes.order ? codes.order[i] : std::min(i / codes.group, codes.groups - 1);
    bool upper;
    const auto byte = std::to_integer<std::uint8_t>(*places.code(i, column, upper));
    float value = 0;
    if (codes.kind == CodeKind::Int4)
      value = codes.table[upper ? byte >> 4 : byte & 15];
    else if (codes.kind == CodeKind::E4M3)
      value = from_e4m3(byte) / kFp8Scale;
    else
      value = static_cast<float>(codes.chunk > 0 ? byte - 128 : static_cast<std::int8_t>(byte));
    double exact = double(value) * double(places.scales(group)[column]);
    if (codes.offsets) exact += double(places.offsets(group)[column]);
    const auto number = static_cast<float>(exact);
    out[i] = matrix.precision == Precision::Bf16 ? from_bf16(to_bf16(number)) : number;
  }
}

}  // namespace counterbeam
