// Named sets of code points: POSIX classes, general categories, scripts and properties. Their
// contents are those of Oniguruma for UTF-8 text.
#include <algorithm>
#include <string>

#include "base/unicode_data.h"
#include "text/regex_set.h"

namespace counterbeam {
namespace {

constexpr CategorySet kAll = category_range(Category::Cn, Category::Zs);
constexpr CategorySet kUnprintable =
    category_bit(Category::Cc) | category_bit(Category::Cn) | category_bit(Category::Cs);

PointSet categories_and(CategorySet categories, const PointSet& more) {
  PointSet set = PointSet::of_categories(categories);
  set.add(more);
  return set;
}

bool lists(std::string_view names, std::string_view name) {
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(' ', at), names.size());
    if (names.substr(at, end - at) == name) return true;
    at = end + 1;
  }
  return false;
}

// REQUIRES: lower case, without separators
std::optional<PointSet> tabled_set(std::string_view name) {
  for (const unicode_data::NamedRuns& row : unicode_data::kNamedRuns) {
    if (!lists(row.names, name)) continue;
    std::vector<PointRange> ranges;
    char32_t at = 0;
    for (unicode_data::Numbers numbers(row.runs); !numbers.done();) {
      const char32_t first = at + numbers.next();
      at = first + numbers.next();
      ranges.push_back({first, at - 1});
    }
    return PointSet(std::move(ranges));
  }
  return std::nullopt;
}

}  // namespace

std::optional<PointSet> posix_set(std::string_view name) {
  if (name == "alpha" || name == "lower" || name == "upper") return tabled_set(name);
  if (name == "alnum") return categories_and(category_bit(Category::Nd), *tabled_set("alpha"));
  if (name == "ascii") return PointSet{{0, 127}};
  if (name == "blank") return categories_and(category_bit(Category::Zs), {{'\t', '\t'}});
  if (name == "cntrl") return PointSet::of_categories(category_bit(Category::Cc));
  if (name == "digit") return PointSet::of_categories(category_bit(Category::Nd));
  if (name == "graph")
    return PointSet::of_categories(kAll & ~kUnprintable)
        .intersected(PointSet::white_space().inverted());
  if (name == "print")
    return PointSet::of_categories(kAll & ~kUnprintable & ~category_bit(Category::Zl) &
                                   ~category_bit(Category::Zp));
  if (name == "punct") return PointSet::of_categories(kPunctuation | kSymbols);
  if (name == "space") return PointSet::white_space();
  if (name == "word") return PointSet::word();
  if (name == "xdigit") return PointSet{{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
  return std::nullopt;
}

std::optional<PointSet> named_set(std::string_view name) {
  if (const auto categories = category_set(name)) return PointSet::of_categories(*categories);
  const std::string key = unicode_data::loose_name(name);
  if (key == "any") return PointSet{{0, kLastPoint}};
  if (key == "whitespace" || key == "wspace") return PointSet::white_space();
  if (auto set = posix_set(key)) return set;
  return tabled_set(key);
}

}  // namespace counterbeam
