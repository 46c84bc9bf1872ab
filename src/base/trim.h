// Removes white space around a text. The sets contain ASCII only, so UTF-8 characters stay intact.
#pragma once

#include <string_view>

namespace counterbeam {

inline constexpr std::string_view kLineSpace = " \t\r\n";       // what separates words and lines
inline constexpr std::string_view kAsciiSpace = " \t\n\v\f\r";  // std::isspace in the C locale

// A view of `text` without the leading characters of `front` and the trailing ones of `back`.
constexpr std::string_view trim(std::string_view text, std::string_view front,
                                std::string_view back) {
  const auto first = text.find_first_not_of(front);
  const auto last = text.find_last_not_of(back);
  if (first == text.npos || last == text.npos || last < first) return {};
  return text.substr(first, last - first + 1);
}

constexpr std::string_view trim(std::string_view text, std::string_view space = kLineSpace) {
  return trim(text, space, space);
}

}  // namespace counterbeam
