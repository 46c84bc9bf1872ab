// Sets of real numbers: intervals, unions, finite sets and the solutions of inequalities in one
// unknown, so that "3 < x <= 4" and "(3,4]" are one answer.
#pragma once

#include <optional>
#include <vector>

#include "grade/budget.h"
#include "grade/tree.h"

namespace counterbeam::grade {

struct Piece {
  Tree low, high;          // infinity as the symbol infty or its negative
  double low_at, high_at;  // their places
  bool low_in = false, high_in = false;
};
using RealSet = std::vector<Piece>;  // sorted, apart from each other

// Nothing where the tree is no set of reals that we can write as pieces. A pair in round or square
// brackets is read as an interval.
std::optional<RealSet> real_set(const Tree& tree, Budget& budget);

bool same_set(const RealSet& a, const RealSet& b, Budget& budget);

// Whether a relation in one unknown holds exactly on the set: tried at every end of a piece, close
// to it on both sides, and at points between and beyond.
bool describes(const Tree& relation, const RealSet& set, Budget& budget);

// Whether it says so by its form: an inequality, a union, an infinite end, brackets that differ.
bool is_set_like(const Tree& tree);

}  // namespace counterbeam::grade
