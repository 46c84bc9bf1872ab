// Units of measure. A phrase such as "square cm", "km/h" or "red balls" becomes powers of
// dimensions with a scale; words that are no unit we know are kept as they stand.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "grade/number.h"

namespace counterbeam::grade {

struct Unit {
  std::map<std::string, int> dimensions;  // "length" -> 2
  std::set<std::string> words;            // unknown nouns, singular
  Rational scale = 1;                     // to the dimension's base unit
  Rational times = 1;                     // "million": a factor of the number itself
};

Unit read_unit(const std::string& phrase);

// One letter that may be a unit ("10 m"), where the other answer has a unit too.
bool is_unit_letter(std::string_view symbol);

bool is_bare(const Unit& unit);  // none at all

bool compatible(const Unit& a, const Unit& b);

}  // namespace counterbeam::grade
