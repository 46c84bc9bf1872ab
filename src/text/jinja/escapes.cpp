#include "text/jinja/escapes.h"

#include <fmt/format.h>

#include "text/jinja/chars.h"

namespace counterbeam::jinja {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char low = static_cast<char>(c | 0x20);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

// Reads exactly `count` hex digits.
bool read_hex(std::string_view text, std::size_t at, std::size_t count, char32_t& code) {
  code = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const int digit = at + i < text.size() ? hex_value(text[at + i]) : -1;
    if (digit < 0) return false;
    code = code * 16 + static_cast<char32_t>(digit);
  }
  return true;
}

char simple_escape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    case '\\':
    case '\'':
    case '"':
      return c;
    default:
      return 0;
  }
}

bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

// Surrogates are rejected, even as a pair: Python would keep two lone surrogates, which UTF-8
// cannot represent.
bool encodable(char32_t code) {
  return code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF);
}

}  // namespace

std::string unescape(std::string_view literal, std::string& problem) {
  std::string out;
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\' || i + 1 >= literal.size()) {
      out += literal[i];
      continue;
    }
    const char c = literal[++i];
    if (c == '\n') continue;
    if (const char simple = simple_escape(c)) {
      out += simple;
    } else if (is_octal(c)) {
      char32_t code = 0;
      std::size_t end = i;
      while (end < literal.size() && end < i + 3 && is_octal(literal[end]))
        code = code * 8 + static_cast<char32_t>(literal[end++] - '0');
      append_utf8(out, code);
      i = end - 1;
    } else if (c == 'x' || c == 'u' || c == 'U') {
      const std::size_t count = c == 'x' ? 2 : c == 'u' ? 4 : 8;
      char32_t code = 0;
      if (!read_hex(literal, i + 1, count, code) || !encodable(code)) {
        problem = fmt::format("the escape \\{} in a string is not {} hex digits of a character", c,
                              count);
        return out;
      }
      append_utf8(out, code);
      i += count;
    } else if (c == 'N') {
      problem = "the escape \\N{...} in a string is not supported; write \\u and its number";
      return out;
    } else {
      out += '\\';
      out += c;
    }
  }
  return out;
}

void append_repr(Text& out, const Text& text) {
  const std::string_view view = text.view();
  const bool single = view.find('\'') != view.npos && view.find('"') == view.npos;
  const char quote = single ? '"' : '\'';
  out.append(std::string_view(&quote, 1));
  for (std::size_t at = 0; at < view.size();) {
    const CodePoint point = decode(view, at);
    const bool trusted = text.trusted_at(at);
    if (point.value == static_cast<char32_t>(quote) || point.value == '\\')
      out.append(fmt::format("\\{}", static_cast<char>(point.value)), trusted);
    else if (point.value == '\n')
      out.append("\\n", trusted);
    else if (point.value == '\r')
      out.append("\\r", trusted);
    else if (point.value == '\t')
      out.append("\\t", trusted);
    else if (is_printable(point.value))
      out.append(view.substr(at, point.size), trusted);
    else if (point.value < 0x100)
      out.append(fmt::format("\\x{:02x}", static_cast<unsigned>(point.value)), trusted);
    else if (point.value < 0x10000)
      out.append(fmt::format("\\u{:04x}", static_cast<unsigned>(point.value)), trusted);
    else
      out.append(fmt::format("\\U{:08x}", static_cast<unsigned>(point.value)), trusted);
    at += point.size;
  }
  out.append(std::string_view(&quote, 1));
}

}  // namespace counterbeam::jinja
