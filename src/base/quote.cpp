#include "base/quote.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace counterbeam {

std::string printable(std::string_view text, std::size_t limit) {
  std::size_t end = std::min(limit, text.size());
  while (end > 0 && end < text.size() && (text[end] & 0xc0) == 0x80)
    --end;  // do not cut inside a character
  std::string shown;
  for (const char c : to_valid_utf8(text.substr(0, end))) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      shown += fmt::format("\\x{:02x}", byte);
    else
      shown += c;
  }
  if (end < text.size()) shown += fmt::format("... ({} bytes)", text.size());
  return shown;
}

std::string in_quotes(std::string_view text) {
  return fmt::format("\"{}\"", printable(text));
}

}  // namespace counterbeam
