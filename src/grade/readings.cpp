#include "grade/readings.h"

#include <cctype>

#include "grade/parser.h"

namespace counterbeam::grade {
namespace {

// Replaces a decimal comma by a point in 0,111 or 1000,99 or 12,50, but not in 1,2, which is a
// list, or in 1,234.
std::optional<std::string> with_point(const std::string& text) {
  const std::size_t start = text.starts_with('-') ? 1 : 0, comma = text.find(',');
  if (comma == text.npos || comma == start || comma + 1 == text.size()) return std::nullopt;
  std::string point = text;
  point[comma] = '.';
  if (point.find_first_not_of("0123456789.", start) != point.npos ||
      point.find('.') != point.rfind('.'))
    return std::nullopt;
  const std::size_t before = comma - start, behind = text.size() - comma - 1;
  const bool sure = (before == 1 && text[start] == '0') || before > 3;
  return sure || (behind > 1 && behind != 3) ? std::optional(point) : std::nullopt;
}

// "1,000" and "1,05": a list is never written with leading zeros.
bool is_padded(const std::string& text) {
  for (std::size_t i = 0; i + 2 < text.size(); ++i)
    if (text[i] == ',' && text[i + 1] == '0' &&
        std::isdigit(static_cast<unsigned char>(text[i + 2])))
      return true;
  return false;
}

}  // namespace

bool is_list(const std::optional<Tree>& tree) {
  return tree && ((*tree)->kind == Kind::List || (*tree)->kind == Kind::Set);
}

Readings read(const std::string& text) {
  Readings r;
  r.usual = parse(text, Commas::Thousands);
  if (text.find(',') == text.npos) return r;
  if (const auto point = with_point(text)) r.decimal_comma = parse(*point, Commas::List);
  if (!is_padded(text))
    r.as_list = parse(text, Commas::List);
  else if (is_list(r.usual))
    r.usual = std::nullopt;
  return r;
}

}  // namespace counterbeam::grade
