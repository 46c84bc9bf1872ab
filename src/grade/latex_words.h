// The words of LaTeX that the lexer knows: functions, letters, styling, operators.
#pragma once

#include <string_view>

namespace counterbeam::grade {

bool is_function(std::string_view word);
bool is_greek(std::string_view word);
bool is_styling(std::string_view word);       // affects only style or spacing
bool is_text_command(std::string_view word);  // its argument is text

// The token of an operator command: "leq" -> "<="; empty for any other word.
std::string_view operator_of(std::string_view word);

}  // namespace counterbeam::grade
