#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace counterbeam {
namespace {

// What a lead byte determines: the length of the sequence, and the range of its second byte, which
// excludes overlong forms, surrogates and points above U+10FFFF.
struct Lead {
  unsigned length;
  unsigned char low, high;
};

Lead lead(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte < 0xF0)
    return {3, static_cast<unsigned char>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<unsigned char>(byte == 0xED ? 0x9F : 0xBF)};
  if (byte < 0xF5)
    return {4, static_cast<unsigned char>(byte == 0xF0 ? 0x90 : 0x80),
            static_cast<unsigned char>(byte == 0xF4 ? 0x8F : 0xBF)};
  return {0, 0, 0};
}

}  // namespace

DecodedChar decode_utf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const Lead first = lead(byte(at));
  if (first.length == 1) return {byte(at), 1, true};
  if (first.length == 0) return {kReplacement, 1, false};
  char32_t point = byte(at) & (0x7F >> first.length);
  for (unsigned i = 1; i < first.length; ++i) {
    if (at + i == text.size()) return {kReplacement, i, false};
    const unsigned char next = byte(at + i);
    const bool fits = i == 1 ? next >= first.low && next <= first.high : (next & 0xC0) == 0x80;
    if (!fits) return {kReplacement, i, false};
    point = point << 6 | (next & 0x3F);
  }
  return {point, first.length, true};
}

std::size_t char_before(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

void append_utf8(std::string& out, char32_t point) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6), put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12), put(0x80 | (point >> 6 & 0x3F)), put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | point >> 18), put(0x80 | (point >> 12 & 0x3F));
    put(0x80 | (point >> 6 & 0x3F)), put(0x80 | (point & 0x3F));
  }
}

std::string to_utf8(char32_t point) {
  std::string text;
  append_utf8(text, point);
  return text;
}

bool is_ascii(std::string_view text) {
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    if (word & 0x8080808080808080u) return false;
  }
  for (; at < text.size(); ++at)
    if (static_cast<unsigned char>(text[at]) >= 0x80) return false;
  return true;
}

bool is_valid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const DecodedChar decoded = decode_utf8(text, at);
    if (!decoded.valid) return false;
    at += decoded.length;
  }
  return true;
}

std::string to_valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const DecodedChar decoded = decode_utf8(text, at);
    if (decoded.valid)
      out.append(text, at, decoded.length);
    else
      append_utf8(out, kReplacement);
    at += decoded.length;
  }
  return out;
}

std::size_t complete_prefix(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const std::size_t at = text.size() - back;
    if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;
    const DecodedChar decoded = decode_utf8(text, at);
    const bool cut_short = !decoded.valid && decoded.length == back &&
                           lead(static_cast<unsigned char>(text[at])).length > back;
    return cut_short ? at : text.size();
  }
  return text.size();
}

}  // namespace counterbeam
