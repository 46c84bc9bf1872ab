#include "grade/strict.h"

#include <cmath>
#include <cstdlib>
#include <set>

#include "grade/equality.h"
#include "grade/strict_strings.h"
#include "grade/words.h"

namespace counterbeam::grade {
namespace {

constexpr long kStrictSteps = 20000;
constexpr std::size_t kMaxAnswer = 2000;

// Parses what Python's float() accepts.
std::optional<double> as_float(std::string_view text) {
  const std::string s = stripped(text);
  std::size_t i = !s.empty() && (s[0] == '-' || s[0] == '+') ? 1 : 0;
  bool digits = false, point = false;
  for (; i < s.size(); ++i) {
    if (is_digit(s[i]))
      digits = true;
    else if (s[i] == '.' && !point)
      point = true;
    else
      break;
  }
  if (!digits) return std::nullopt;
  if (i < s.size()) {
    if (s[i] != 'e' && s[i] != 'E') return std::nullopt;
    ++i;
    if (i < s.size() && (s[i] == '-' || s[i] == '+')) ++i;
    if (i == s.size() || s.find_first_not_of("0123456789", i) != std::string::npos)
      return std::nullopt;
  }
  return std::strtod(s.c_str(), nullptr);
}

std::optional<Integer> as_whole(double x) {
  if (!std::isfinite(x) || std::abs(x - std::nearbyint(x)) > 1e-7) return std::nullopt;
  return Integer(std::nearbyint(x));
}

// (\d)(,)(\d\d\d)($|\D), until nothing changes.
std::string without_thousands(std::string s) {
  for (bool changed = true; changed;) {
    changed = false;
    std::string out;
    for (std::size_t i = 0; i < s.size(); ++i) {
      const bool comma = s[i] == ',' && i > 0 && is_digit(s[i - 1]) && i + 3 < s.size() &&
                         is_digit(s[i + 1]) && is_digit(s[i + 2]) && is_digit(s[i + 3]) &&
                         (i + 4 == s.size() || !is_digit(s[i + 4]));
      if (comma)
        changed = true;
      else
        out += s[i];
    }
    s = out;
  }
  return s;
}

std::optional<Integer> text_as_whole(const std::string& s) {
  const auto value = as_float(without_thousands(s));
  return value ? as_whole(*value) : std::nullopt;
}

// unit(es)?(s)? *(\^[0-9]+)?
void remove_unit(std::string& s, std::string_view unit) {
  std::string out;
  for (std::size_t i = 0; i < s.size();) {
    if (s.compare(i, unit.size(), unit) != 0) {
      out += s[i++];
      continue;
    }
    i += unit.size();
    if (s.compare(i, 2, "es") == 0) i += 2;
    if (i < s.size() && s[i] == 's') ++i;
    while (i < s.size() && s[i] == ' ') ++i;
    if (i + 1 < s.size() && s[i] == '^' && is_digit(s[i + 1])) {
      ++i;
      while (i < s.size() && is_digit(s[i])) ++i;
    }
  }
  s = out;
}

// Removes matches of the pattern "head *tail".
void remove_spaced(std::string& s, std::string_view head, std::string_view tail,
                   std::string_view to) {
  std::string out;
  for (std::size_t i = 0; i < s.size();) {
    if (s.compare(i, head.size(), head) == 0) {
      std::size_t k = i + head.size();
      while (k < s.size() && s[k] == ' ') ++k;
      if (s.compare(k, tail.size(), tail) == 0) {
        out += to;
        i = k + tail.size();
        continue;
      }
    }
    out += s[i++];
  }
  s = out;
}

// "7 3/4" -> "7+3/4"
std::string with_mixed_numbers(const std::string& s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == ' ' && i > 0 && is_digit(s[i - 1])) {
      std::size_t k = i;
      while (k < s.size() && s[k] == ' ') ++k;
      if (k < s.size() && is_digit(s[k])) {
        out += '+';
        i = k - 1;
        continue;
      }
    }
    out += s[i];
  }
  return out;
}

std::string parse_latex(std::string s) {
  replace_all(s, "\\tfrac", "\\frac");
  replace_all(s, "\\dfrac", "\\frac");
  replace_all(s, "\\frac", " \\frac");
  s = latex_as_text(s);
  replace_all(s, "\u221a", "sqrt");
  replace_all(s, "\u03c0", "pi");
  replace_all(s, "\u221e", "inf");
  replace_all(s, "\u222a", "U");
  replace_all(s, "\u00b7", "*");
  replace_all(s, "\u00d7", "*");
  return stripped(s);
}

std::vector<std::string> elements(const std::string& text) {
  const std::string s = without_thousands(text);
  if (s.empty()) return {};
  const auto bracket = [](char c) { return c == '(' || c == ')' || c == '[' || c == ']'; };
  const bool tuple = s.size() > 2 && bracket(s.front()) && bracket(s.back()) &&
                     s.find_first_of("()[]", 1) == s.size() - 1;
  if (!tuple) return {s};
  std::vector<std::string> parts = split(std::string_view(s).substr(1, s.size() - 2), ",");
  for (std::string& part : parts) part = stripped(part);
  return parts;
}

// ^-?[0-9]+.?/0*[1-9][0-9]*.?$
bool is_fraction(const std::string& s) {
  std::size_t i = s.starts_with('-') ? 1 : 0;
  const std::size_t top = i;
  while (i < s.size() && is_digit(s[i])) ++i;
  if (i == top) return false;
  if (i < s.size() && s[i] != '/') ++i;
  if (i >= s.size() || s[i] != '/') return false;
  const std::size_t bottom = ++i;
  while (i < s.size() && is_digit(s[i])) ++i;
  if (s.substr(bottom, i - bottom).find_first_not_of('0') == std::string::npos) return false;
  return i == s.size() || i + 1 == s.size();
}

bool may_simplify(const std::string& gold, const std::string& pred) {
  std::string both = "(" + gold + ")-(" + pred + ")";
  for (std::size_t i = 0; i + 1 < both.size(); ++i) {
    if (both[i] != '^') continue;
    if (both[i + 1] == '{' || both[i + 1] == '(') return false;
    if (is_digit(both[i + 1]) && i + 2 < both.size() &&
        (is_digit(both[i + 2]) || both[i + 2] == '^'))
      return false;
  }
  replace_all(both, "sqrt", "");
  replace_all(both, "frac", "");
  std::set<char> letters;
  for (const char c : both) {
    if (static_cast<unsigned char>(c) >= 0x80 || c == '\x01') return false;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) letters.insert(c);
  }
  return letters.size() <= 2;
}

bool simplifies_to_same(const std::string& gold, const std::string& pred) {
  if (!may_simplify(gold, pred)) return false;
  const auto a = parse_plain(gold), b = parse_plain(pred);
  if (!a || !b) return false;
  try {
    Budget budget(kStrictSteps);
    return same_value(*a, *b, budget, Branch::Principal);
  } catch (const Error&) {
    return false;
  }
}

bool same_element(const std::string& gold, const std::string& pred) {
  if (is_fraction(gold) && is_fraction(pred)) return gold == pred;
  if (text_as_whole(gold).has_value() != text_as_whole(pred).has_value()) return false;
  return simplifies_to_same(gold, pred);
}

}  // namespace

std::string second_form(std::string_view answer) {
  std::string s(answer);
  if (const auto inside = text_inside(s)) s = *inside;
  replace_all(s, "\\%", "%");
  replace_all(s, "\\$", "$");
  replace_all(s, "$", "");
  replace_all(s, "%", "");
  replace_all(s, " or ", " , ");
  replace_all(s, " and ", " , ");
  replace_all(s, "million", "*10^6");
  replace_all(s, "billion", "*10^9");
  replace_all(s, "trillion", "*10^12");
  for (const std::string_view unit :
       {"degree", "cm", "centimeter", "meter", "mile", "second", "minute", "hour", "day", "week",
        "month", "year", "foot", "feet", "inch", "yard"})
    remove_unit(s, unit);
  remove_spaced(s, "^", "\\circ", "");
  if (s.size() > 1 && s.front() == '{' && s.back() == '}') s = s.substr(1, s.size() - 2);
  remove_spaced(s, ",\\!", "", "");
  if (const auto value = as_float(s))
    if (const auto whole = as_whole(*value)) s = whole->get_str();
  if (s.find('\\') != std::string::npos) s = parse_latex(s);
  remove_spaced(s, "-", "", "-");
  s = with_mixed_numbers(s);
  replace_all(s, " ", "");
  replace_all(s, "{", "");
  replace_all(s, "}", "");
  for (char& c : s)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (const auto whole = text_as_whole(s)) s = whole->get_str();
  return s;
}

bool strict_equal(std::string_view gold, std::string_view pred) {
  if (gold.size() > kMaxAnswer || pred.size() > kMaxAnswer) return gold == pred;
  if (hendrycks_form(gold) == hendrycks_form(pred)) return true;
  const std::string a = second_form(gold), b = second_form(pred);
  if (a == b) return true;
  if (b.empty()) return false;
  const auto ea = elements(a), eb = elements(b);
  if (ea.size() != eb.size() || ea.empty()) return false;
  if (ea.size() > 1 && (a.front() != b.front() || a.back() != b.back())) return false;
  for (std::size_t i = 0; i < ea.size(); ++i)
    if (!same_element(ea[i], eb[i])) return false;
  return true;
}

}  // namespace counterbeam::grade
