// Units of measure. A phrase such as "square cm", "km/h" or "red balls" becomes powers of
// dimensions with a scale; unknown words are kept as they are.
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
  Rational scale = 1;                     // factor to the base unit
  Rational times = 1;                     // "million": a factor of the number itself
};

Unit read_unit(const std::string& phrase);

// Whether the letter can be a unit ("10 m"); used only if the other answer has a unit.
bool is_unit_letter(std::string_view symbol);

bool is_bare(const Unit& unit);  // no unit

bool compatible(const Unit& a, const Unit& b);

}  // namespace counterbeam::grade
