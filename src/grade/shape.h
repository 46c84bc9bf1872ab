// Rewrites that bring an answer's tree to the shape it is compared in: chains of equations cut to
// what they end in, names of results dropped, plus-minus written out, lists flattened.
#pragma once

#include <vector>

#include "grade/tree.h"

namespace counterbeam::grade {

// x, f(x), a_3, AB, |AB|, V_1:V_2, NO/BO: what a result may be called.
bool is_name(const Tree& tree);

// "x = 1 + 1 = 2 ~ 2.0" -> "x = 2"; "a = b = 3" and "1 + 2 = 3", without a
// name in front, -> "3".
Tree cut_chain(const Tree& tree);

// The side of an equation that the other one names; null where neither is a name.
Tree named_value(const Tree& tree);
Tree name_of(const Tree& tree);

// Both readings of every plus-minus, signs taken together.
std::vector<Tree> both_signs(const Tree& tree);

// The members of a list or set, plus-minus written out, nested lists opened.
std::vector<Tree> members(const Tree& tree);

}  // namespace counterbeam::grade
