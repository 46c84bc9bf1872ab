// plain_spelling: unifies Unicode mathematics and escaping variants.
#include <array>
#include <cstdint>

#include "grade/lexer.h"
#include "grade/words.h"

namespace counterbeam::grade {
namespace {

struct Spelling {
  std::string_view from, to;
};

constexpr Spelling kSpellings[] = {
    {"\u221a", "\\sqrt "},
    {"\u03c0", "\\pi "},
    {"\u221e", "\\infty "},
    {"\u222a", "\\cup "},
    {"\u2229", "\\cap "},
    {"\u2208", "\\in "},
    {"\u2264", "\\le "},
    {"\u2265", "\\ge "},
    {"\u2a7d", "\\le "},
    {"\u2a7e", "\\ge "},
    {"\u2260", "\\ne "},
    {"\u2248", "\\approx "},
    {"\u00d7", "\\times "},
    {"\u00b7", "\\cdot "},
    {"\u22c5", "\\cdot "},
    {"\u00f7", "\\div "},
    {"\u00b1", "\\pm "},
    {"\u2213", "\\mp "},
    {"\u00b0", "^\\circ "},
    {"\u2212", "-"},
    {"\u2013", "-"},
    {"\u2014", "-"},
    {"\u00b2", "^{2}"},
    {"\u00b3", "^{3}"},
    {"\u00bd", " 1/2"},
    {"\u00bc", " 1/4"},
    {"\u00be", " 3/4"},
    {"\u2032", "'"},
    {"\u00a0", " "},
    {"\u2009", " "},
    {"\u202f", " "},
    {"\u200b", ""},
    {"\u3000", " "},
    {"\uff0c", ","},
    {"\uff1a", ":"},
    {"\uff08", "("},
    {"\uff09", ")"},
    {"\uff05", "%"},
    {"\uff0e", "."},
    {"\uff1d", "="},
    {"\u2205", "\\emptyset "},
    {"\u211d", "\\mathbb{R}"},
    {"\u20ac", "\\euro "},
    {"\u00a3", "\\pounds "},
    {"\u03b1", "\\alpha "},
    {"\u03b2", "\\beta "},
    {"\u03b3", "\\gamma "},
    {"\u03b8", "\\theta "},
    {"\u03bb", "\\lambda "},
    {"\u03bc", "\\mu "},
    {"\u03c6", "\\phi "},
    {"\u03c9", "\\omega "},
    {"\u03c3", "\\sigma "},
    {"\u0394", "\\Delta "},
    {"\u03a9", "\\Omega "},
    {"\u2044", "/"},
    {"\u2215", "/"},
    {"\u2217", "*"},
    {"\u27e8", "\\langle "},
    {"\u27e9", "\\rangle "},
    {"\u2026", "\\ldots "},
    {"\u201c", "\""},
    {"\u201d", "\""},
    {"\u2018", "'"},
    {"\u2019", "'"},
    {"\u2061", ""},
    {"\ufeff", ""},
    {"\u2074", "^{4}"},
    {"\u2075", "^{5}"},
    {"\u2076", "^{6}"},
    {"\u2216", "\\setminus "},
};

constexpr std::uint32_t kDigitZeros[] = {0x0660, 0x06F0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66,
                                         0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0E50, 0xFF10};

// The code point at `at` and its length; an invalid byte counts as one code point.
std::uint32_t code_point(std::string_view text, std::size_t at, std::size_t& length) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const std::uint32_t lead = byte(0);
  length = lead >= 0xE0 && lead < 0xF0 ? 3 : lead >= 0xC0 && lead < 0xE0 ? 2 : 1;
  if (length == 2) return (lead & 0x1F) << 6 | (byte(1) & 0x3F);
  if (length == 3) return (lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  return lead;
}

bool append_foreign(std::string_view text, std::size_t& at, std::string& out) {
  for (const Spelling& s : kSpellings) {
    if (text.substr(at, s.from.size()) != s.from) continue;
    out += s.to;
    at += s.from.size();
    return true;
  }
  std::size_t length = 1;
  const std::uint32_t c = code_point(text, at, length);
  for (const std::uint32_t zero : kDigitZeros) {
    if (c < zero || c > zero + 9) continue;
    out += static_cast<char>('0' + (c - zero));
    at += length;
    return true;
  }
  return false;
}

}  // namespace

std::string plain_spelling(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  int environments = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) >= 0x80 && append_foreign(text, i, out)) continue;
    if (text.substr(i, 6) == "\\begin") ++environments;
    if (text.substr(i, 4) == "\\end") --environments;
    const bool doubled = text.substr(i, 2) == "\\\\" && i + 2 < text.size() && environments <= 0 &&
                         (is_letter(text[i + 2]) || text[i + 2] == '{' || text[i + 2] == '}');
    if (doubled) ++i;
    out += text[i++];
    if (doubled && text.substr(i, 5) == "begin") ++environments;
  }
  return out;
}

}  // namespace counterbeam::grade
