// Characters and words of answers. Letters and digits are those of ASCII.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

namespace counterbeam::grade {

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

inline bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

inline bool any_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

}  // namespace counterbeam::grade
