#include "backend/code_form.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace counterbeam {
namespace {

// The size of groups as far as it matters: 0 if a row has one group.
int group_of(const CodeLayout& layout) {
  return layout.groups == 1 ? 0 : layout.group;
}

std::vector<std::int32_t> order_of(const StoredMatrix& part) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(part.in()));
  part.read_order(order);
  return order;
}

// The values of a table of 16 fit a signed byte if they are whole.
bool fits_int8(const CodeLayout& layout) {
  if (layout.kind != CodeKind::Int4) return layout.kind == CodeKind::Int8;
  return std::all_of(layout.table.begin(), layout.table.end(), [](float value) {
    return value >= -128 && value <= 127 && value == static_cast<float>(static_cast<int>(value));
  });
}

// One kind for all: theirs if they agree, else Int8.
bool agree_on_kind(std::span<const CodeLayout> layouts, CodeForm& form) {
  form.kind = layouts[0].kind;
  form.table = layouts[0].table;
  const bool same = std::all_of(layouts.begin(), layouts.end(), [&](const CodeLayout& other) {
    return other.kind == form.kind && (form.kind != CodeKind::Int4 || other.table == form.table);
  });
  if (same) return true;
  form.kind = CodeKind::Int8;
  return std::all_of(layouts.begin(), layouts.end(), fits_int8);
}

}  // namespace

std::int64_t CodeForm::bytes(std::int64_t out, std::int64_t in) const {
  const std::int64_t codes = kind == CodeKind::Int4 ? (in + 1) / 2 : in;
  return out * (codes + groups * (offsets ? 8 : 4));
}

std::optional<CodeForm> common_form(std::span<const StoredMatrix> parts) {
  std::vector<CodeLayout> layouts;
  for (const StoredMatrix& part : parts) {
    const auto layout = part.codes();
    if (!layout) return std::nullopt;
    layouts.push_back(*layout);
  }
  CodeForm form;
  if (!agree_on_kind(layouts, form)) return std::nullopt;
  const int in = parts[0].in();
  int group = 0;
  bool ordered = false;
  for (const CodeLayout& layout : layouts) {
    group = std::gcd(group, group_of(layout));
    form.offsets = form.offsets || layout.offsets;
    ordered = ordered || (layout.ordered && layout.groups > 1);
  }
  if (ordered || group % CodeForm::kGroupStep != 0) {
    form.order = order_of(parts[0]);
    form.groups = layouts[0].groups;
    form.group = in;
    for (std::size_t i = 1; i < parts.size(); ++i)
      if (layouts[i].groups != form.groups || order_of(parts[i]) != form.order) return std::nullopt;
  } else {
    form.group = group == 0 ? in : group;
    form.groups = (in + form.group - 1) / form.group;
  }
  if (form.bytes(1, in) >= 2 * std::int64_t{in}) return std::nullopt;
  return form;
}

void read_codes(const CodeForm& form, const StoredMatrix& part, int row, int first,
                std::span<std::uint8_t> to) {
  part.read_codes(row, first, to);
  const CodeLayout layout = *part.codes();
  if (layout.kind != CodeKind::Int4 || form.kind == CodeKind::Int4) return;
  for (std::uint8_t& code : to)
    code = static_cast<std::uint8_t>(static_cast<std::int8_t>(layout.table[code & 15u]));
}

void read_scales(const CodeForm& form, const StoredMatrix& part, int row, std::span<float> scales,
                 std::span<float> offsets) {
  const CodeLayout layout = *part.codes();
  if (layout.offsets != form.offsets) std::fill(offsets.begin(), offsets.end(), 0.0f);
  if (layout.groups == form.groups) return part.read_scales(row, scales, offsets);
  // Fewer, larger groups: each scale counts for several groups of the form.
  std::vector<float> own(static_cast<std::size_t>(layout.groups)), own_offsets(own.size());
  part.read_scales(row, own, own_offsets);
  for (std::size_t g = 0; g < scales.size(); ++g) {
    const auto from =
        layout.groups == 1
            ? 0
            : static_cast<std::size_t>(static_cast<std::int64_t>(g) * form.group / layout.group);
    scales[g] = own[from];
    if (form.offsets) offsets[g] = layout.offsets ? own_offsets[from] : 0.0f;
  }
}

}  // namespace counterbeam
