// The methods of Python's str for Text. Results are made of pieces of the input, so trust marks are
// kept.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "text/jinja/budget.h"
#include "text/jinja/text.h"

namespace counterbeam::jinja {

enum class Side { Left, Right, Both };

// Strips whitespace, or the characters of `chars` when given.
Text strip(const Text& text, Side side, const std::string_view* chars);
Text upper(const Text& text);
Text lower(const Text& text);
Text fold_case(const Text& text);
Text swap_case(const Text& text);
Text capitalize(const Text& text);
Text title(const Text& text);  // str.title
// count < 0 replaces all.
Text replace(const Text& text, const Text& old, const Text& fresh, std::int64_t count,
             Budget& budget);
// Pads with `fill` to `width` characters; Side::Both is str.center.
Text pad(const Text& text, std::int64_t width, Side text_side, const Text& fill, Budget& budget);

std::vector<Text> split(const Text& text, const Text* separator, std::int64_t limit,
                        bool from_right);
std::vector<Text> split_lines(const Text& text, bool keep_ends);

}  // namespace counterbeam::jinja
