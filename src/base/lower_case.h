// Lower case of ASCII letters, in every locale.
#pragma once

#include <string>
#include <string_view>

namespace counterbeam {

// The text with A to Z in lower case.
std::string to_lower_case(std::string_view text);

}  // namespace counterbeam
