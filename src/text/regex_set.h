// A set of code points, stored as sorted disjoint ranges, with the operations of character classes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/unicode.h"

namespace counterbeam {

struct PointRange {
  char32_t first, last;
  bool operator==(const PointRange&) const = default;
};

class PointSet {
 public:
  PointSet() = default;
  PointSet(std::initializer_list<PointRange> ranges);
  explicit PointSet(std::vector<PointRange> ranges);
  static PointSet of_categories(CategorySet categories);
  static PointSet white_space();
  static PointSet word();
  // \w outside of a character class, where it includes the superscript digits and fractions of
  // Latin-1.
  static PointSet lone_word();

  void add(char32_t first, char32_t last);
  void add(const PointSet& other);
  PointSet inverted() const;
  PointSet intersected(const PointSet& other) const;
  PointSet closed_under_case() const;

  bool contains(char32_t point) const;
  bool operator==(const PointSet&) const = default;
  const std::vector<PointRange>& ranges() const { return ranges_; }

 private:
  void tidy();
  std::vector<PointRange> ranges_;
};

// The set for a name in \p{...}: a category, script or property. Case, spaces, hyphens and
// underscores are ignored. Empty if the name is unknown.
std::optional<PointSet> named_set(std::string_view name);
// The set of a POSIX class, [:name:].
std::optional<PointSet> posix_set(std::string_view name);

// A PointSet with fast lookup: a bitmap below U+0800, binary search above.
class PointTest {
 public:
  explicit PointTest(const PointSet& set);
  bool operator()(char32_t point) const {
    return point < kSmall ? bits_[point / 64] >> (point % 64) & 1 : search(point);
  }

 private:
  static constexpr char32_t kSmall = 0x800;
  bool search(char32_t point) const;

  std::array<std::uint64_t, kSmall / 64> bits_{};
  std::vector<PointRange> large_;
};

}  // namespace counterbeam
