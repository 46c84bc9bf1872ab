// Whether two expressions have the same value: by exact normal forms where those decide, else by
// their values at random points in high precision.
#pragma once

#include <optional>

#include "grade/budget.h"
#include "grade/tree.h"

namespace counterbeam::grade {

// Where one side has no real value (a root of a negative number), nothing is asked by default;
// with Principal the complex values must agree too.
enum class Branch { RealDomain, Principal };
bool same_value(const Tree& a, const Tree& b, Budget& budget, Branch branch = Branch::RealDomain);

// Whether a = 0 and b = 0 say the same: one difference is a number times the other. `sign` is the
// sign of that number, for inequalities.
bool same_up_to_factor(const Tree& a, const Tree& b, Budget& budget, int& sign);

// A tree without matrices inside: sums, products and scalings of matrices are carried out.
Tree fold_matrices(const Tree& tree);

// A written decimal stands for `value` when it has twelve significant digits or more and all of
// them are right.
bool long_decimal_of(const Tree& decimal, const Tree& value, Budget& budget);

// The real value of a constant expression, for ordering.
std::optional<double> approximate(const Tree& tree, Budget& budget);

}  // namespace counterbeam::grade
