// The byte-level alphabet of GPT-2: every byte as one printable character, so that any text is a
// string of vocabulary characters.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace counterbeam {

char32_t byte_to_char(unsigned char byte);
std::optional<unsigned char> char_to_byte(char32_t point);

std::string bytes_to_chars(std::string_view bytes);

// The bytes that a token of such a vocabulary stands for; a token with a character outside the
// alphabet stands for its own UTF-8. REQUIRES: valid UTF-8
void append_token_bytes(std::string_view token, std::string& out);

}  // namespace counterbeam
