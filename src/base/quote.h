// Makes untrusted text safe to print in a message: control characters, which could act on a
// terminal, are escaped, invalid UTF-8 is replaced, and long text is cut.
#pragma once

#include <string>
#include <string_view>

namespace counterbeam {

// printable(text) in double quotes.
std::string in_quotes(std::string_view text);

// At most `limit` bytes of the text, escaped as described above.
std::string printable(std::string_view text, std::size_t limit = 80);

}  // namespace counterbeam
