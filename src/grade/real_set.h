// Sets of real numbers: intervals, unions, finite sets and solutions of inequalities in one
// unknown, so that "3 < x <= 4" equals "(3,4]".
#pragma once

#include <optional>
#include <vector>

#include "grade/budget.h"
#include "grade/tree.h"

namespace counterbeam::grade {

struct Piece {
  Tree low, high;          // infinity is the symbol infty or its negative
  double low_at, high_at;  // their values
  bool low_in = false, high_in = false;
};
using RealSet = std::vector<Piece>;  // sorted and disjoint

// Empty if the tree is not a set of reals that can be written as pieces. A pair in round or square
// brackets is read as an interval.
std::optional<RealSet> real_set(const Tree& tree, Budget& budget);

bool same_set(const RealSet& a, const RealSet& b, Budget& budget);

// Whether a relation in one unknown holds exactly on the set. Tested at the ends of every piece,
// close to them on both sides, and at points between and beyond them.
bool describes(const Tree& relation, const RealSet& set, Budget& budget);

// Whether the tree is a set by its form: an inequality, a union, an infinite end, or brackets that
// differ.
bool is_set_like(const Tree& tree);

}  // namespace counterbeam::grade
