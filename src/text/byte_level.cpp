#include "text/byte_level.h"

#include <array>

#include "base/utf8.h"

namespace counterbeam {
namespace {

// Printable bytes map to themselves, the other 68 to the characters from U+0100 on.
constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<char32_t, 256> chars{};
  std::array<short, 0x144> bytes{};

  constexpr Alphabet() {
    for (short& byte : bytes) byte = -1;
    char32_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      chars[byte] = stands_for_itself(byte) ? byte : next++;
      bytes[chars[byte]] = static_cast<short>(byte);
    }
  }
};

constexpr Alphabet kAlphabet;

}  // namespace

char32_t byte_to_char(unsigned char byte) {
  return kAlphabet.chars[byte];
}

std::optional<unsigned char> char_to_byte(char32_t point) {
  if (point >= kAlphabet.bytes.size() || kAlphabet.bytes[point] < 0) return std::nullopt;
  return static_cast<unsigned char>(kAlphabet.bytes[point]);
}

std::string bytes_to_chars(std::string_view bytes) {
  std::string chars;
  chars.reserve(bytes.size() * 2);
  for (const char byte : bytes) append_utf8(chars, byte_to_char(static_cast<unsigned char>(byte)));
  return chars;
}

void append_token_bytes(std::string_view token, std::string& out) {
  const std::size_t before = out.size();
  for (std::size_t at = 0; at < token.size();) {
    unsigned length;
    const auto byte = char_to_byte(char_at(token, at, length));
    if (!byte) {
      out.resize(before);
      out.append(token);
      return;
    }
    out.push_back(static_cast<char>(*byte));
    at += length;
  }
}

}  // namespace counterbeam
