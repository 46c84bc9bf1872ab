// Hendrycks' normalisation of MATH answers, step by step. As in the original, a step that fails
// leaves the answer unchanged.
#include <algorithm>

#include "grade/strict.h"
#include "grade/strict_strings.h"

namespace counterbeam::grade {
namespace {

using MaybeString = std::optional<std::string>;

MaybeString fix_fractions(const std::string& s) {
  const auto parts = split(s, "\\frac");
  std::string out = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string& p = parts[i];
    out += "\\frac";
    if (p.empty()) return std::nullopt;
    if (p[0] == '{') {
      out += p;
      continue;
    }
    if (p.size() < 2) return s;
    out += std::string("{") + p[0] + "}";
    if (p[1] == '{')
      out += p.substr(1);
    else
      out += std::string("{") + p[1] + "}" + p.substr(2);
  }
  return out;
}

MaybeString fix_roots(const std::string& s) {
  const auto parts = split(s, "\\sqrt");
  std::string out = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].empty()) return std::nullopt;
    if (parts[i][0] == '{')
      out += "\\sqrt" + parts[i];
    else
      out += std::string("\\sqrt{") + parts[i][0] + "}" + parts[i].substr(1);
  }
  return out;
}

// Whether the integer is written as Python prints it: no plus sign, no leading zero.
bool is_printed_integer(const std::string& s) {
  const std::string digits = s.starts_with('-') ? s.substr(1) : s;
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) return false;
  return (digits[0] != '0' || digits.size() == 1) && s != "-0";
}

std::string fix_slash(const std::string& s) {
  const auto parts = split(s, "/");
  if (parts.size() != 2 || !is_printed_integer(parts[0]) || !is_printed_integer(parts[1])) return s;
  return "\\frac{" + parts[0] + "}{" + parts[1] + "}";
}

MaybeString strip_string(std::string s) {
  replace_all(s, "\n", "");
  replace_all(s, "\\!", "");
  replace_all(s, "\\\\", "\\");
  replace_all(s, "tfrac", "frac");
  replace_all(s, "dfrac", "frac");
  replace_all(s, "\\left", "");
  replace_all(s, "\\right", "");
  replace_all(s, "^{\\circ}", "");
  replace_all(s, "^\\circ", "");
  replace_all(s, "\\$", "");
  if (s.find("\\text{ ") != std::string::npos) {
    const auto parts = split(s, "\\text{ ");
    if (parts.size() != 2) return std::nullopt;
    s = parts[0];
  }
  replace_all(s, "\\%", "");
  replace_all(s, " .", " 0.");
  replace_all(s, "{.", "{0.");
  if (s.empty()) return s;
  if (s[0] == '.') s = "0" + s;
  if (const auto sides = split(s, "="); sides.size() == 2 && sides[0].size() <= 2) s = sides[1];
  const MaybeString rooted = fix_roots(s);
  if (!rooted) return std::nullopt;
  s = *rooted;
  replace_all(s, " ", "");
  const MaybeString fractions = fix_fractions(s);
  if (!fractions) return std::nullopt;
  s = *fractions;
  if (s == "0.5") s = "\\frac{1}{2}";
  return fix_slash(s);
}

}  // namespace

std::string hendrycks_form(std::string_view answer) {
  std::string s = stripped(answer);
  if (const auto inside = text_inside(s)) s = stripped(*inside);
  return strip_string(s).value_or(s);
}

}  // namespace counterbeam::grade
