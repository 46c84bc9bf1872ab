// Whether two expressions are equal: by exact normal forms if they decide, otherwise by their
// values at random points in high precision.
#pragma once

#include <optional>

#include "grade/budget.h"
#include "grade/tree.h"

namespace counterbeam::grade {

// Points at which one side has no real value (the root of a negative number) are ignored by
// default; with Principal the complex values must agree too.
enum class Branch { RealDomain, Principal };
bool same_value(const Tree& a, const Tree& b, Budget& budget, Branch branch = Branch::RealDomain);

// Whether a = 0 and b = 0 are the same equation: a is a constant times b. `sign` is the sign of
// that constant, for inequalities.
bool same_up_to_factor(const Tree& a, const Tree& b, Budget& budget, int& sign);

// Carries out sums, products and scalings of matrices.
Tree fold_matrices(const Tree& tree);

// Whether a decimal represents `value`: it has at least twelve significant digits and all are
// correct.
bool long_decimal_of(const Tree& decimal, const Tree& value, Budget& budget);

// The real value of a constant expression, for ordering.
std::optional<double> approximate(const Tree& tree, Budget& budget);

}  // namespace counterbeam::grade
