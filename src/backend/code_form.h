// The form in which a back end keeps quantised matrices that are stacked into one: one kind of
// code, one size of groups. Parts that differ are brought to a form that holds all of them without
// loss (Int4 and Int8 become Int8, groups of 128 and 32 become groups of 32).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tensor/stored_matrix.h"

namespace counterbeam {

struct CodeForm {
  CodeKind kind = CodeKind::Int8;
  int group = 0;   // inputs that share a scale: a multiple of kGroupStep, or all of a row
  int groups = 1;  // of a row
  bool offsets = false;
  std::array<float, 16> table{};    // Int4: the value of each code
  std::vector<std::int32_t> order;  // the group of every input; empty: input / group

  static constexpr int kGroupStep = 16;

  // Bytes of codes, scales and offsets of so many outputs and inputs.
  std::int64_t bytes(std::int64_t out, std::int64_t in) const;
};

// None if the parts are better kept as plain numbers: some are not quantised, they have no common
// form, or it would take as much memory as bf16. REQUIRES at least one part, all of one width.
std::optional<CodeForm> common_form(std::span<const StoredMatrix> parts);

// One row of a part in such a form: codes of [first, first + to.size()), and scales and offsets of
// all groups of the form.
void read_codes(const CodeForm& form, const StoredMatrix& part, int row, int first,
                std::span<std::uint8_t> to);
void read_scales(const CodeForm& form, const StoredMatrix& part, int row, std::span<float> scales,
                 std::span<float> offsets);

}  // namespace counterbeam
