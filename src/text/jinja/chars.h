// Code points as in Python's str: decoding, classes and case. All strings are valid UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"

namespace counterbeam::jinja {

struct CodePoint {
  char32_t value;
  std::size_t size;  // bytes
};

// REQUIRES: at < text.size(), at the start of a character
inline CodePoint decode(std::string_view text, std::size_t at) {
  unsigned length = 0;
  const char32_t value = char_at(text, at, length);
  return {value, length};
}

std::size_t count_points(std::string_view text);
// Byte offset of code point `index` (clamped to the end).
std::size_t offset_of(std::string_view text, std::size_t index);
// Byte offsets of all characters, and text.size().
std::vector<std::size_t> borders(std::string_view text);

bool is_space(char32_t code);     // str.isspace, and \s of re
bool is_line_end(char32_t code);  // str.splitlines
bool is_alpha(char32_t code);
bool is_decimal(char32_t code);
bool is_digit(char32_t code);
bool is_numeric(char32_t code);
bool is_upper(char32_t code);
bool is_lower(char32_t code);
bool is_title(char32_t code);
bool is_printable(char32_t code);  // not escaped by repr
bool is_word(char32_t code);       // \w of re
bool is_name_start(char32_t code);
bool is_name_part(char32_t code);

// Full case mappings, which may give more than one character.
void append_upper(std::string& out, char32_t code);
void append_lower(std::string& out, char32_t code);
void append_title(std::string& out, char32_t code);
void append_folded(std::string& out, char32_t code);

// The ends of the white space at the front and at the back of the text.
std::size_t skip_space(std::string_view text, std::size_t from);
std::size_t trim_end(std::string_view text);
// Without both. Wider than trim() of base/trim.h, which knows ASCII only.
std::string_view trim_space(std::string_view text);

}  // namespace counterbeam::jinja
