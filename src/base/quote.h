// Text from outside, made fit to stand in a message: quoted, control characters and bytes that are
// not ASCII escaped where they could act on a terminal, and cut when long.
#pragma once

#include <string>
#include <string_view>

namespace counterbeam {

// "\"name\"": printable text is kept as it is, and at most 80 bytes of it.
std::string in_quotes(std::string_view text);

// The same without the quotes.
std::string printable(std::string_view text, std::size_t limit = 80);

}  // namespace counterbeam
