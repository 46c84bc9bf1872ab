#include "text/jinja/chars.h"

#include <algorithm>
#include <unordered_map>

#include "base/unicode.h"

namespace counterbeam::jinja {
namespace {

// The simple upper-case mapping: the inverse of to_lower(), and the few one-way mappings.
char32_t to_upper(char32_t code) {
  static const auto kTable = [] {
    std::unordered_map<char32_t, char32_t> table = {{0xB5, 0x39C},  {0x131, 'I'},   {0x17F, 'S'},
                                                    {0x3C2, 0x3A3}, {0x3D0, 0x392}, {0x3D1, 0x398},
                                                    {0x3D5, 0x3A6}, {0x3D6, 0x3A0}, {0x3F0, 0x39A},
                                                    {0x3F1, 0x3A1}, {0x3F5, 0x395}};
    for (char32_t upper = 0x80; upper < 0x1F000; ++upper)
      if (const char32_t low = to_lower(upper); low != upper && low >= 0x80 && low != 0xDF)
        table.emplace(low, upper);
    return table;
  }();
  if (code < 0x80) return code >= 'a' && code <= 'z' ? code - 32 : code;
  const auto found = kTable.find(code);
  return found == kTable.end() ? code : found->second;
}

bool is_cased(char32_t code) {
  return is_upper(code) || is_lower(code) || is_title(code);
}

}  // namespace

std::size_t count_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::size_t offset_of(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  while (index > 0 && at < text.size()) {
    at += decode(text, at).size;
    --index;
  }
  return std::min(at, text.size());
}

std::vector<std::size_t> borders(std::string_view text) {
  std::vector<std::size_t> found;
  for (std::size_t at = 0; at < text.size(); at += decode(text, at).size) found.push_back(at);
  found.push_back(text.size());
  return found;
}

bool is_space(char32_t code) {
  if (code < 0x80) return (code >= 9 && code <= 13) || (code >= 28 && code <= 32);
  return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
         code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool is_line_end(char32_t code) {
  return (code >= 10 && code <= 13) || (code >= 28 && code <= 30) || code == 0x85 ||
         code == 0x2028 || code == 0x2029;
}

bool is_alpha(char32_t code) {
  return is_in(code, kLetters);
}

bool is_decimal(char32_t code) {
  return category(code) == Category::Nd;
}

bool is_digit(char32_t code) {
  if (is_decimal(code)) return true;
  return code == 0xB2 || code == 0xB3 || code == 0xB9 || code == 0x2070 ||
         (code >= 0x2074 && code <= 0x2079) || (code >= 0x2080 && code <= 0x2089) ||
         (code >= 0x2460 && code <= 0x2468) || (code >= 0x2474 && code <= 0x247C) ||
         (code >= 0x2488 && code <= 0x2490);
}

bool is_numeric(char32_t code) {
  return is_in(code, kNumbers);
}

bool is_upper(char32_t code) {
  if (code < 0x80) return code >= 'A' && code <= 'Z';
  return category(code) == Category::Lu || (code >= 0x2160 && code <= 0x216F) ||
         (code >= 0x24B6 && code <= 0x24CF);
}

bool is_lower(char32_t code) {
  if (code < 0x80) return code >= 'a' && code <= 'z';
  return category(code) == Category::Ll || code == 0xAA || code == 0xBA ||
         (code >= 0x2170 && code <= 0x217F) || (code >= 0x24D0 && code <= 0x24E9) ||
         (category(code) == Category::Lm && code >= 0x2B0 && code <= 0x2B8);
}

bool is_title(char32_t code) {
  return category(code) == Category::Lt;
}

bool is_printable(char32_t code) {
  if (code < 0x7F) return code >= 0x20;
  return !is_in(code, kOthers | kSeparators);
}

bool is_word(char32_t code) {
  if (code < 0x80)
    return (code >= '0' && code <= '9') || (code >= 'a' && code <= 'z') ||
           (code >= 'A' && code <= 'Z') || code == '_';
  return is_alpha(code) || is_numeric(code);
}

bool is_name_start(char32_t code) {
  if (code < 0x80) return is_word(code) && !(code >= '0' && code <= '9');
  return is_alpha(code) || category(code) == Category::Nl;
}

bool is_name_part(char32_t code) {
  if (code < 0x80) return is_word(code);
  const auto c = category(code);
  return is_name_start(code) || c == Category::Nd || c == Category::Mn || c == Category::Mc ||
         c == Category::Pc;
}

void append_upper(std::string& out, char32_t code) {
  if (code == 0xDF) {
    out += "SS";
  } else if (code >= 0xFB00 && code <= 0xFB06) {
    static constexpr const char* kLigatures[] = {"FF", "FI", "FL", "FFI", "FFL", "ST", "ST"};
    out += kLigatures[code - 0xFB00];
  } else {
    append_utf8(out, to_upper(code));
  }
}

void append_lower(std::string& out, char32_t code) {
  if (code == 0x130)
    out += "i\u0307";
  else
    append_utf8(out, to_lower(code));
}

void append_title(std::string& out, char32_t code) {
  if (code == 0xDF)
    out += "Ss";
  else if (is_cased(code))
    append_utf8(out, to_upper(code));
  else
    append_upper(out, code);
}

void append_folded(std::string& out, char32_t code) {
  if (code == 0xDF)
    out += "ss";
  else
    append_lower(out, code);
}

std::size_t skip_space(std::string_view text, std::size_t from) {
  while (from < text.size()) {
    const CodePoint point = decode(text, from);
    if (!is_space(point.value)) break;
    from += point.size;
  }
  return from;
}

std::size_t trim_end(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t start = end - 1;
    while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
    if (!is_space(decode(text, start).value)) break;
    end = start;
  }
  return end;
}

std::string_view trim_space(std::string_view text) {
  text = text.substr(0, trim_end(text));
  return text.substr(skip_space(text, 0));
}

}  // namespace counterbeam::jinja
