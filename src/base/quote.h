// Text from outside, made fit to stand in a message: control characters, which could act on a
// terminal, are escaped, what is not UTF-8 is replaced, and it is cut when long.
#pragma once

#include <string>
#include <string_view>

namespace counterbeam {

// "\"name\"": printable text is kept as it is, and at most 80 bytes of it.
std::string in_quotes(std::string_view text);

// The same without the quotes.
std::string printable(std::string_view text, std::size_t limit = 80);

}  // namespace counterbeam
