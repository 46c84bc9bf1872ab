#include "base/unicode.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/unicode_data.h"

namespace counterbeam {
namespace unicode_data {

std::uint32_t Numbers::next() {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
  std::uint32_t value = 0;
  for (unsigned shift = 0;; shift += 5) {
    const std::size_t digit = kAlphabet.find(*at_++);
    CB_CHECK(digit != kAlphabet.npos);
    value |= static_cast<std::uint32_t>(digit & 31) << shift;
    if (digit < 32) return value;
  }
}

std::int32_t Numbers::next_signed() {
  const std::uint32_t value = next();
  const std::int32_t half = static_cast<std::int32_t>(value / 2);
  return value % 2 ? -half - 1 : half;
}

std::string loose_name(std::string_view name) {
  std::string key;
  for (const char c : name)
    if (c != ' ' && c != '-' && c != '_')
      key += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return key;
}

const std::uint8_t* categories() {
  static const std::vector<std::uint8_t> table = [] {
    std::vector<std::uint8_t> unpacked;
    unpacked.reserve(kLastPoint + 1);
    for (Numbers runs(kCategoryRuns); !runs.done();) {
      const auto value = static_cast<std::uint8_t>(runs.next());
      unpacked.insert(unpacked.end(), runs.next(), value);
    }
    CB_CHECK(unpacked.size() == kLastPoint + 1);
    return unpacked;
  }();
  return table.data();
}

}  // namespace unicode_data

namespace {

using CasePairs = std::vector<std::pair<char32_t, char32_t>>;

CasePairs unpack_case(const char* packed) {
  CasePairs pairs;
  char32_t point = 0;
  for (unicode_data::Numbers numbers(packed); !numbers.done();) {
    point += numbers.next();
    pairs.emplace_back(point, point + static_cast<char32_t>(numbers.next_signed()));
  }
  return pairs;
}

char32_t mapped(const CasePairs& pairs, char32_t point) {
  const auto found = std::lower_bound(pairs.begin(), pairs.end(), std::pair{point, char32_t{0}});
  return found != pairs.end() && found->first == point ? found->second : point;
}

using Runs = std::vector<std::pair<char32_t, char32_t>>;  // [first, one past the last)

Runs unpack_runs(const char* packed) {
  Runs runs;
  char32_t at = 0;
  for (unicode_data::Numbers numbers(packed); !numbers.done();) {
    const char32_t first = at + numbers.next();
    at = first + numbers.next();
    runs.emplace_back(first, at);
  }
  return runs;
}

bool is_among(const Runs& runs, char32_t point) {
  const auto after =
      std::upper_bound(runs.begin(), runs.end(), std::pair{point, static_cast<char32_t>(-1)});
  return after != runs.begin() && point < std::prev(after)->second;
}

struct CategoryName {
  std::string_view name;  // lower case, without separators
  CategorySet set;
};

constexpr CategoryName kShortNames[] = {
    {"cn", category_bit(Category::Cn)},
    {"cc", category_bit(Category::Cc)},
    {"cf", category_bit(Category::Cf)},
    {"co", category_bit(Category::Co)},
    {"cs", category_bit(Category::Cs)},
    {"ll", category_bit(Category::Ll)},
    {"lm", category_bit(Category::Lm)},
    {"lo", category_bit(Category::Lo)},
    {"lt", category_bit(Category::Lt)},
    {"lu", category_bit(Category::Lu)},
    {"mc", category_bit(Category::Mc)},
    {"me", category_bit(Category::Me)},
    {"mn", category_bit(Category::Mn)},
    {"nd", category_bit(Category::Nd)},
    {"nl", category_bit(Category::Nl)},
    {"no", category_bit(Category::No)},
    {"pc", category_bit(Category::Pc)},
    {"pd", category_bit(Category::Pd)},
    {"pe", category_bit(Category::Pe)},
    {"pf", category_bit(Category::Pf)},
    {"pi", category_bit(Category::Pi)},
    {"po", category_bit(Category::Po)},
    {"ps", category_bit(Category::Ps)},
    {"sc", category_bit(Category::Sc)},
    {"sk", category_bit(Category::Sk)},
    {"sm", category_bit(Category::Sm)},
    {"so", category_bit(Category::So)},
    {"zl", category_bit(Category::Zl)},
    {"zp", category_bit(Category::Zp)},
    {"zs", category_bit(Category::Zs)},
    {"l", kLetters},
    {"m", kMarks},
    {"n", kNumbers},
    {"p", kPunctuation},
    {"s", kSymbols},
    {"z", kSeparators},
    {"c", kOthers},
    {"lc", category_bit(Category::Ll) | category_bit(Category::Lu) | category_bit(Category::Lt)}};

constexpr std::pair<std::string_view, std::string_view> kLongNames[] = {
    {"letter", "l"},
    {"lowercaseletter", "ll"},
    {"modifierletter", "lm"},
    {"otherletter", "lo"},
    {"titlecaseletter", "lt"},
    {"uppercaseletter", "lu"},
    {"casedletter", "lc"},
    {"mark", "m"},
    {"combiningmark", "m"},
    {"spacingmark", "mc"},
    {"enclosingmark", "me"},
    {"nonspacingmark", "mn"},
    {"number", "n"},
    {"decimalnumber", "nd"},
    {"letternumber", "nl"},
    {"othernumber", "no"},
    {"punctuation", "p"},
    {"connectorpunctuation", "pc"},
    {"dashpunctuation", "pd"},
    {"closepunctuation", "pe"},
    {"finalpunctuation", "pf"},
    {"initialpunctuation", "pi"},
    {"otherpunctuation", "po"},
    {"openpunctuation", "ps"},
    {"symbol", "s"},
    {"currencysymbol", "sc"},
    {"modifiersymbol", "sk"},
    {"mathsymbol", "sm"},
    {"othersymbol", "so"},
    {"separator", "z"},
    {"lineseparator", "zl"},
    {"paragraphseparator", "zp"},
    {"spaceseparator", "zs"},
    {"other", "c"},
    {"control", "cc"},
    {"format", "cf"},
    {"privateuse", "co"},
    {"surrogate", "cs"},
    {"unassigned", "cn"}};

}  // namespace

std::optional<CategorySet> category_set(std::string_view name) {
  std::string key = unicode_data::loose_name(name);
  for (const auto& [longer, shorter] : kLongNames)
    if (key == longer) key = shorter;
  for (const CategoryName& entry : kShortNames)
    if (key == entry.name) return entry.set;
  return std::nullopt;
}

bool is_white_space(char32_t point) {
  if (point < 0x80) return point == ' ' || (point >= 9 && point <= 13);
  return point == 0x85 || is_in(point, kSeparators);
}

bool is_word(char32_t point) {
  constexpr CategorySet kWord = kLetters | kMarks | category_bit(Category::Nd) |
                                category_bit(Category::Nl) | category_bit(Category::Pc);
  if (is_in(point, kWord)) return true;
  // Symbols with the property Alphabetic: circled and squared letters.
  return (point >= 0x24B6 && point <= 0x24E9) || (point >= 0x1F130 && point <= 0x1F149) ||
         (point >= 0x1F150 && point <= 0x1F169) || (point >= 0x1F170 && point <= 0x1F189);
}

bool is_mark_of_9(char32_t point) {
  static const Runs late = unpack_runs(unicode_data::kLateMarks);
  return is_in(point, kMarks) && !is_among(late, point);
}

bool is_punctuation_of_8(char32_t point) {
  static const Runs late = unpack_runs(unicode_data::kLatePunctuation);
  return is_in(point, kPunctuation) && !is_among(late, point);
}

char32_t to_lower(char32_t point) {
  if (point < 0x80) return point >= 'A' && point <= 'Z' ? point + 32 : point;
  static const CasePairs pairs = unpack_case(unicode_data::kLowercase);
  return mapped(pairs, point);
}

char32_t fold_case(char32_t point) {
  if (point < 0x80) return point >= 'A' && point <= 'Z' ? point + 32 : point;
  static const CasePairs pairs = unpack_case(unicode_data::kCaseFolding);
  return mapped(pairs, point);
}

}  // namespace counterbeam
