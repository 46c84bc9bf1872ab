// Parses and writes Python's escapes in string literals.
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/text.h"

namespace counterbeam::jinja {

// Decodes the inside of a quoted literal. A bad escape sets `problem`.
std::string unescape(std::string_view literal, std::string& problem);

// Appends repr() of a string; trust marks are kept.
void append_repr(Text& out, const Text& text);

}  // namespace counterbeam::jinja
