// A set of code points, as sorted disjoint ranges, with the algebra that character classes need.
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
  // What \w is outside of a character class: the digits and fractions of Latin-1 count there.
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

// The set that a name stands for in \p{...}: a category, script or property; case, spaces, hyphens
// and underscores do not count. Nothing when the name is not known.
std::optional<PointSet> named_set(std::string_view name);
// The set of a POSIX class, [:name:].
std::optional<PointSet> posix_set(std::string_view name);

// A PointSet made fast to ask: one bit for each point below U+0800, a binary search above.
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
