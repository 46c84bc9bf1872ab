// The byte-level alphabet of GPT-2: maps every byte to one printable character, so that any text
// can be spelled with vocabulary characters.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace counterbeam {

char32_t byte_to_char(unsigned char byte);
std::optional<unsigned char> char_to_byte(char32_t point);

std::string bytes_to_chars(std::string_view bytes);

// Appends the bytes that a token of such a vocabulary represents. A token with a character outside
// the alphabet represents its own UTF-8 bytes. REQUIRES: valid UTF-8
void append_token_bytes(std::string_view token, std::string& out);

}  // namespace counterbeam
