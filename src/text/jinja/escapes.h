// Escapes in and out of string literals, as Python writes them.
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/text.h"

namespace counterbeam::jinja {

// The inside of a quoted literal to its text. A bad escape sets `problem`.
std::string unescape(std::string_view literal, std::string& problem);

// repr() of a string, marks kept.
void append_repr(Text& out, const Text& text);

}  // namespace counterbeam::jinja
