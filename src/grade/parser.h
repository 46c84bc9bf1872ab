// Parses tokens into a tree by recursive descent:
//   statement  := list of relations, separated by ; then , then and/or
//   relation   := sets joined by = < <= > >= != ~= in
//   set        := ratios joined by cup, cap, setminus
//   sum        := terms joined by + - pm mp
//   term       := factors joined by * / or juxtaposition; two adjacent numbers are an error
//   factor     := primary followed by any of ! ' % deg ^ _
// The whole input must parse: nothing is skipped to make an answer fit.
#pragma once

#include <optional>
#include <string_view>

#include "grade/lexer.h"
#include "grade/tree.h"

namespace counterbeam::grade {

// The tree of `text`; empty if it is not mathematics.
std::optional<Tree> parse(std::string_view text, Commas commas);

}  // namespace counterbeam::grade
