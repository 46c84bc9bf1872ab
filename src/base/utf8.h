// UTF-8 in and out. Decoding never fails: an invalid sequence becomes one U+FFFD per maximal
// subpart, as the Unicode standard recommends and as Rust, Python and browsers do.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace counterbeam {

inline constexpr char32_t kReplacement = 0xFFFD;

struct DecodedChar {
  char32_t point;
  unsigned length;  // bytes taken, at least 1
  bool valid;
};

// REQUIRES: at < text.size()
DecodedChar decode_utf8(std::string_view text, std::size_t at);

// The character that starts at `at`. REQUIRES: text is valid UTF-8, at < text.size()
inline char32_t char_at(std::string_view text, std::size_t at, unsigned& length) {
  const unsigned char first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) {
    length = 1;
    return first;
  }
  const DecodedChar decoded = decode_utf8(text, at);
  length = decoded.length;
  return decoded.point;
}

// Where the character that ends at `end` starts. REQUIRES: valid UTF-8, end > 0
std::size_t char_before(std::string_view text, std::size_t end);

void append_utf8(std::string& out, char32_t point);
std::string to_utf8(char32_t point);

bool is_valid_utf8(std::string_view text);
bool is_ascii(std::string_view text);

// The text itself, or with U+FFFD in place of what is invalid.
std::string to_valid_utf8(std::string_view text);

// Length of the longest prefix that does not end inside a character that more bytes could
// complete; at most 3 bytes are left over.
std::size_t complete_prefix(std::string_view text);

}  // namespace counterbeam
