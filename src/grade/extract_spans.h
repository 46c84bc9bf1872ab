// The parts that extraction looks for in prose: boxes, formulas between dollar signs, numbers, and
// the value that a sentence states.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace counterbeam {

struct Box {
  std::size_t begin, end;  // of the whole command
  std::string content;
  bool closed = true;
};

// Finds every `\boxed{...}` with balanced braces, and `\boxed X` up to a dollar sign. Boxes inside
// boxes are not listed. With `to_the_end` an unclosed box extends to the end of the text.
std::vector<Box> find_boxes(std::string_view text, std::string_view command, bool to_the_end);

// Whether the whole text is mathematics.
bool is_formula(std::string_view text);

// Whether the text is sentences around an answer rather than an answer.
bool is_prose(std::string_view text);

// The value at the start of `text`, if that is a delimited formula or a number.
std::optional<std::string> delimited_value(std::string_view text);

// The value that the first sentence of `text` states: "$5$. I hope", "the largest n is 34."
std::optional<std::string> stated_value(std::string_view text);

// The last delimited formula or the last number, whichever is later.
std::optional<std::string> last_value(std::string_view text);

}  // namespace counterbeam
