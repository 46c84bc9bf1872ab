// Parses tokens to a tree, by recursive descent:
//   statement  := list of relations, by ; over , over and/or
//   relation   := sets joined by = < <= > >= != ~= in
//   set        := ratios joined by cup, cap, setminus
//   sum        := terms joined by + - pm mp
//   term       := factors joined by * / or by nothing; two bare numbers side by side are refused
//   factor     := primary with ! ' % deg ^ _ behind it
// Anything it does not understand in full is refused: nothing is skipped to make an answer fit.
#pragma once

#include <optional>
#include <string_view>

#include "grade/lexer.h"
#include "grade/tree.h"

namespace counterbeam::grade {

// The tree of `text`, or nothing where it is not mathematics.
std::optional<Tree> parse(std::string_view text, Commas commas);

}  // namespace counterbeam::grade
