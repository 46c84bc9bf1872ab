// Rewrites an answer's tree for comparison: reduces chains of equations to their result, drops
// names of results, expands plus-minus, and flattens lists.
#pragma once

#include <vector>

#include "grade/tree.h"

namespace counterbeam::grade {

// Whether the tree can be the name of a result: x, f(x), a_3, AB, |AB|, V_1:V_2, NO/BO.
bool is_name(const Tree& tree);

// "x = 1 + 1 = 2 ~ 2.0" -> "x = 2"; "a = b = 3" and "1 + 2 = 3" -> "3".
Tree cut_chain(const Tree& tree);

// The value in an equation "name = value"; null if neither side is a name.
Tree named_value(const Tree& tree);
Tree name_of(const Tree& tree);

// Expands plus-minus into two trees; all signs are chosen together.
std::vector<Tree> both_signs(const Tree& tree);

// The members of a list or set, with plus-minus expanded and nested lists flattened.
std::vector<Tree> members(const Tree& tree);

}  // namespace counterbeam::grade
