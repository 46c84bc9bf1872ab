// What a text votes for: two answers agree when their votes are the same text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace counterbeam {

// The final mathematical answer of a text; nothing where none is found.
std::optional<std::string> math_vote(std::string_view text);

}  // namespace counterbeam
