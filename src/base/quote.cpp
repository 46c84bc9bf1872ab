#include "base/quote.h"

#include <fmt/format.h>

namespace counterbeam {

std::string printable(std::string_view text, std::size_t limit) {
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i >= limit && (text[i] & 0xc0) != 0x80) {  // never cut inside a UTF-8 sequence
      shown += fmt::format("... ({} bytes)", text.size());
      break;
    }
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f)
      shown += fmt::format("\\x{:02x}", byte);
    else
      shown += text[i];
    if (i >= limit + 8) break;  // a run of stray continuation bytes
  }
  return shown;
}

std::string in_quotes(std::string_view text) {
  return fmt::format("\"{}\"", printable(text));
}

}  // namespace counterbeam
