#include "grade/units.h"

#include <algorithm>
#include <sstream>

namespace counterbeam::grade {
namespace {

struct Known {
  const char* name;
  const char* dimension;
  long top, bottom;
};

constexpr Known kUnits[] = {
    {"m", "length", 1, 1},
    {"meter", "length", 1, 1},
    {"metre", "length", 1, 1},
    {"cm", "length", 1, 100},
    {"centimeter", "length", 1, 100},
    {"centimetre", "length", 1, 100},
    {"mm", "length", 1, 1000},
    {"millimeter", "length", 1, 1000},
    {"km", "length", 1000, 1},
    {"kilometer", "length", 1000, 1},
    {"kilometre", "length", 1000, 1},
    {"inch", "length", 254, 10000},
    {"in", "length", 254, 10000},
    {"foot", "length", 3048, 10000},
    {"ft", "length", 3048, 10000},
    {"feet", "length", 3048, 10000},
    {"yard", "length", 9144, 10000},
    {"yd", "length", 9144, 10000},
    {"mile", "length", 1609344, 1000},
    {"mi", "length", 1609344, 1000},
    {"g", "mass", 1, 1000},
    {"gram", "mass", 1, 1000},
    {"kg", "mass", 1, 1},
    {"kilogram", "mass", 1, 1},
    {"mg", "mass", 1, 1000000},
    {"lb", "mass", 45359237, 100000000},
    {"pound", "mass", 45359237, 100000000},
    {"ounce", "mass", 45359237, 1600000000},
    {"oz", "mass", 45359237, 1600000000},
    {"ton", "ton", 1, 1},
    {"s", "time", 1, 1},
    {"sec", "time", 1, 1},
    {"second", "time", 1, 1},
    {"min", "time", 60, 1},
    {"minute", "time", 60, 1},
    {"h", "time", 3600, 1},
    {"hr", "time", 3600, 1},
    {"hour", "time", 3600, 1},
    {"day", "time", 86400, 1},
    {"week", "time", 604800, 1},
    {"month", "month", 1, 1},
    {"year", "month", 12, 1},
    {"l", "volume", 1, 1},
    {"liter", "volume", 1, 1},
    {"litre", "volume", 1, 1},
    {"ml", "volume", 1, 1000},
    {"milliliter", "volume", 1, 1000},
    {"gallon", "gallon", 1, 1},
    {"quart", "gallon", 1, 4},
    {"pint", "gallon", 1, 8},
    {"cup", "gallon", 1, 16},
    {"dollar", "money", 1, 1},
    {"usd", "money", 1, 1},
    {"cent", "money", 1, 100},
    {"degree", "angle", 1, 1},
    {"radian", "radian", 1, 1},
    {"rad", "radian", 1, 1},
    {"n", "newton", 1, 1},
    {"newton", "newton", 1, 1},
    {"j", "joule", 1, 1},
    {"joule", "joule", 1, 1},
    {"w", "watt", 1, 1},
    {"watt", "watt", 1, 1},
    {"v", "volt", 1, 1},
    {"volt", "volt", 1, 1},
    {"hz", "hertz", 1, 1},
    {"hertz", "hertz", 1, 1},
    {"k", "kelvin", 1, 1},
    {"kelvin", "kelvin", 1, 1},
    {"mol", "mole", 1, 1},
    {"mole", "mole", 1, 1},
};

constexpr const char* kFillers[] = {"of", "the", "a", "an", "unit", "in", "total", "about", "each"};

std::string singular(std::string word) {
  if (word == "feet") return "foot";
  if (word == "inches") return "inch";
  if (word.size() > 3 && word.ends_with('s') && !word.ends_with("ss")) word.pop_back();
  return word;
}

const Known* find(const std::string& word) {
  const std::string one = singular(word);
  for (const Known& unit : kUnits)
    if (one == unit.name) return &unit;
  return nullptr;
}

Rational raised(Rational base, int power) {
  Rational result = 1;
  for (int i = 0; i < std::abs(power); ++i) result *= base;
  return power < 0 ? Rational(1 / result) : result;
}

long multiplier(const std::string& word) {
  if (word == "hundred") return 100;
  if (word == "thousand") return 1000;
  if (word == "million") return 1000000;
  if (word == "billion") return 1000000000;
  if (word == "trillion") return 1000000000000;
  return 0;
}

}  // namespace

Unit read_unit(const std::string& phrase) {
  Unit unit;
  std::istringstream words(phrase);
  std::string word;
  int sign = 1, power = 1;
  const Known* last = nullptr;
  int last_sign = 1;
  while (words >> word) {
    if (word[0] == '^') {  // exponent of the preceding unit, which was counted once already
      const int extra = std::stoi(word.substr(1)) - 1;
      if (!last) continue;
      unit.dimensions[last->dimension] += last_sign * extra;
      unit.scale *= raised(ratio(last->top, last->bottom), last_sign * extra);
    } else if (word == "per" || word == "/") {
      sign = -1;
    } else if (word == "*") {
      sign = 1;
    } else if (word == "square" || word == "sq" || word == "squared") {
      power = 2;
    } else if (word == "cubic" || word == "cu" || word == "cubed") {
      power = 3;
    } else if (word == "mph") {
      unit.dimensions["length"] += 1;
      unit.dimensions["time"] -= 1;
      unit.scale *= ratio(1609344, 3600000);
    } else if (const long times = multiplier(word)) {
      unit.times *= times;
    } else if (const Known* known = find(word)) {
      last = known;
      last_sign = sign;
      unit.dimensions[known->dimension] += sign * power;
      unit.scale *= raised(ratio(known->top, known->bottom), sign * power);
      power = 1;
    } else if (std::find(std::begin(kFillers), std::end(kFillers), singular(word)) ==
               std::end(kFillers)) {
      unit.words.insert((sign < 0 ? "/" : "") + singular(word));
      last = nullptr;
    } else {
      power = 1;
    }
  }
  std::erase_if(unit.dimensions, [](const auto& d) { return d.second == 0; });
  return unit;
}

bool is_unit_letter(std::string_view symbol) {
  return symbol.size() == 1 && std::string_view("mgshlLNJWVK").find(symbol) != symbol.npos;
}

bool is_bare(const Unit& unit) {
  return unit.dimensions.empty() && unit.words.empty();
}

bool compatible(const Unit& a, const Unit& b) {
  if (is_bare(a) || is_bare(b)) return true;
  if (a.dimensions != b.dimensions) return false;
  return std::includes(a.words.begin(), a.words.end(), b.words.begin(), b.words.end()) ||
         std::includes(b.words.begin(), b.words.end(), a.words.begin(), a.words.end());
}

}  // namespace counterbeam::grade
