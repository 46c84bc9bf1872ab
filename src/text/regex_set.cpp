#include "text/regex_set.h"

#include <algorithm>
#include <map>

#include "base/unicode_data.h"

namespace counterbeam {
namespace {

struct CategoryRun {
  Category category;
  PointRange range;
};

const std::vector<CategoryRun>& category_runs() {
  static const std::vector<CategoryRun> runs = [] {
    std::vector<CategoryRun> unpacked;
    char32_t first = 0;
    for (unicode_data::Numbers numbers(unicode_data::kCategoryRuns); !numbers.done();) {
      const auto value = static_cast<Category>(numbers.next());
      const char32_t length = numbers.next();
      unpacked.push_back({value, {first, first + length - 1}});
      first += length;
    }
    return unpacked;
  }();
  return runs;
}

// Code points that are equal when case is ignored, by their case folding.
const std::map<char32_t, std::vector<char32_t>>& case_orbits() {
  static const std::map<char32_t, std::vector<char32_t>> orbits = [] {
    std::map<char32_t, std::vector<char32_t>> grouped;
    for (char32_t point = 0; point <= 0x1FFFF; ++point) {
      const char32_t folded = fold_case(point);
      if (folded == point) continue;
      auto& members = grouped[folded];
      if (members.empty()) members.push_back(folded);
      members.push_back(point);
    }
    return grouped;
  }();
  return orbits;
}

}  // namespace

PointSet::PointSet(std::initializer_list<PointRange> ranges) : ranges_(ranges) {
  tidy();
}

PointSet::PointSet(std::vector<PointRange> ranges) : ranges_(std::move(ranges)) {
  tidy();
}

PointSet PointSet::of_categories(CategorySet categories) {
  PointSet set;
  for (const CategoryRun& run : category_runs())
    if (categories & category_bit(run.category)) set.ranges_.push_back(run.range);
  set.tidy();
  return set;
}

PointSet PointSet::white_space() {
  PointSet set = of_categories(kSeparators);
  set.add(9, 13);
  set.add(0x85, 0x85);
  return set;
}

PointSet PointSet::word() {
  PointSet set = of_categories(kLetters | kMarks | category_bit(Category::Nd) |
                               category_bit(Category::Nl) | category_bit(Category::Pc));
  set.add({{0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}});
  return set;
}

PointSet PointSet::lone_word() {
  PointSet set = word();
  set.add({{0xB2, 0xB3}, {0xB9, 0xB9}, {0xBC, 0xBE}});
  return set;
}

void PointSet::add(char32_t first, char32_t last) {
  ranges_.push_back({first, last});
  tidy();
}

void PointSet::add(const PointSet& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  tidy();
}

void PointSet::tidy() {
  std::sort(ranges_.begin(), ranges_.end(),
            [](const PointRange& a, const PointRange& b) { return a.first < b.first; });
  std::size_t kept = 0;
  for (const PointRange& range : ranges_) {
    if (kept > 0 && range.first <= ranges_[kept - 1].last + 1)
      ranges_[kept - 1].last = std::max(ranges_[kept - 1].last, range.last);
    else
      ranges_[kept++] = range;
  }
  ranges_.resize(kept);
}

PointSet PointSet::inverted() const {
  PointSet result;
  char32_t next = 0;
  for (const PointRange& range : ranges_) {
    if (range.first > next) result.ranges_.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastPoint) result.ranges_.push_back({next, kLastPoint});
  return result;
}

PointSet PointSet::intersected(const PointSet& other) const {
  PointSet result;
  for (auto a = ranges_.begin(), b = other.ranges_.begin();
       a != ranges_.end() && b != other.ranges_.end();) {
    const char32_t first = std::max(a->first, b->first), last = std::min(a->last, b->last);
    if (first <= last) result.ranges_.push_back({first, last});
    (a->last < b->last ? a : b)++;
  }
  return result;
}

PointSet PointSet::closed_under_case() const {
  PointSet result = *this;
  for (const auto& [folded, members] : case_orbits()) {
    if (std::none_of(members.begin(), members.end(), [&](char32_t p) { return contains(p); }))
      continue;
    for (const char32_t member : members) result.ranges_.push_back({member, member});
  }
  result.tidy();
  return result;
}

bool PointSet::contains(char32_t point) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), point,
                       [](char32_t value, const PointRange& range) { return value < range.first; });
  return after != ranges_.begin() && point <= std::prev(after)->last;
}

PointTest::PointTest(const PointSet& set) {
  for (const PointRange& range : set.ranges()) {
    for (char32_t p = range.first; p <= range.last && p < kSmall; ++p)
      bits_[p / 64] |= std::uint64_t{1} << (p % 64);
    if (range.last >= kSmall) large_.push_back(range);
  }
}

bool PointTest::search(char32_t point) const {
  const auto after =
      std::upper_bound(large_.begin(), large_.end(), point,
                       [](char32_t value, const PointRange& range) { return value < range.first; });
  return after != large_.begin() && point <= std::prev(after)->last;
}

}  // namespace counterbeam
