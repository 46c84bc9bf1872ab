// Properties of code points: general category and sets of categories, white space, case. The tables
// are those of Unicode 16.0 (case: 14.0). Every function accepts any char32_t.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace counterbeam {

// In the order of tools/unicode_tables.py.
enum class Category : std::uint8_t {
  Cn,
  Cc,
  Cf,
  Co,
  Cs,
  Ll,
  Lm,
  Lo,
  Lt,
  Lu,
  Mc,
  Me,
  Mn,
  Nd,
  Nl,
  No,
  Pc,
  Pd,
  Pe,
  Pf,
  Pi,
  Po,
  Ps,
  Sc,
  Sk,
  Sm,
  So,
  Zl,
  Zp,
  Zs
};

inline constexpr char32_t kLastPoint = 0x10FFFF;

namespace unicode_data {
// One byte for each code point: its category.
const std::uint8_t* categories();
}  // namespace unicode_data

inline Category category(char32_t point) {
  static const std::uint8_t* const table = unicode_data::categories();
  return point <= kLastPoint ? static_cast<Category>(table[point]) : Category::Cn;
}

// A set of categories, one bit each.
using CategorySet = std::uint32_t;
constexpr CategorySet category_bit(Category value) {
  return CategorySet{1} << static_cast<unsigned>(value);
}
constexpr CategorySet category_range(Category first, Category last) {
  return (category_bit(last) << 1) - category_bit(first);
}
inline constexpr CategorySet kLetters = category_range(Category::Ll, Category::Lu);
inline constexpr CategorySet kMarks = category_range(Category::Mc, Category::Mn);
inline constexpr CategorySet kNumbers = category_range(Category::Nd, Category::No);
inline constexpr CategorySet kPunctuation = category_range(Category::Pc, Category::Ps);
inline constexpr CategorySet kSymbols = category_range(Category::Sc, Category::So);
inline constexpr CategorySet kSeparators = category_range(Category::Zl, Category::Zs);
inline constexpr CategorySet kOthers = category_range(Category::Cn, Category::Cs);

inline bool is_in(char32_t point, CategorySet set) {
  return set >> static_cast<unsigned>(category(point)) & 1;
}

// The set for a name such as "Lu", "L", "Punctuation" or "Uppercase_Letter"; case, spaces, hyphens
// and underscores are ignored.
std::optional<CategorySet> category_set(std::string_view name);

bool is_white_space(char32_t point);  // the property White_Space
bool is_word(char32_t point);         // letters, marks, decimal digits, connectors (UTS 18)

bool is_mark_of_9(char32_t point);         // a mark assigned in Unicode 9.0
bool is_punctuation_of_8(char32_t point);  // punctuation assigned in Unicode 8.0

char32_t to_lower(char32_t point);   // the simple case mapping
char32_t fold_case(char32_t point);  // simple case folding: points that fold to the same match

}  // namespace counterbeam
