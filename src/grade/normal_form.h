// Rational functions over exact numbers: a tree becomes a quotient of polynomials whose variables
// are symbols and atoms (roots of primes, i, pi, functions of normal forms). Powers of roots and of
// i are reduced, so sums of surds have a unique form. If the cross difference of two quotients is
// the zero polynomial, they are proved equal. If it is not, they are proved different only if every
// variable is a plain symbol (exact()).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "grade/budget.h"
#include "grade/tree.h"

namespace counterbeam::grade {

using Monomial = std::vector<std::pair<int, long>>;  // (variable, power > 0), sorted by variable
using Polynomial = std::map<Monomial, Rational>;     // no zero coefficients

struct Fraction {
  Polynomial top, bottom;  // bottom is never zero
};

class NormalForms {
 public:
  explicit NormalForms(Budget& budget) : budget_(budget) {}

  // Throws Error if the form would be too large. Empty if the tree is not an expression.
  std::optional<Fraction> form(const Tree& tree);

  bool equal(const Fraction& a, const Fraction& b);
  bool zero(const Fraction& f) const { return f.top.empty(); }
  // The constant c such that the top of `a` is c times the top of `b`, if there is one.
  std::optional<Rational> proportion(const Fraction& a, const Fraction& b);
  // Whether the form contains only plain symbols and numbers.
  bool exact(const Fraction& f) const;
  std::optional<Rational> constant(const Fraction& f) const;
  // Slope and offset if f = slope * symbol + offset with constants for both.
  std::optional<std::pair<Rational, Rational>> linear(const Fraction& f,
                                                      const std::string& symbol) const;

 private:
  struct Variable {
    std::string name;
    bool plain = false;  // a symbol
    long root = 0;       // the variable's root-th power is `power`
    Integer power;
  };

  int variable(const Variable& wanted);
  Polynomial single(int index, long exponent = 1) const;
  Fraction atom(const std::string& name, bool plain);
  Fraction number(const Rational& value) const;
  Polynomial add(const Polynomial& a, const Polynomial& b, const Rational& scale);
  Polynomial multiply(const Polynomial& a, const Polynomial& b);
  void add_product(Polynomial& sum, const Monomial& a, const Monomial& b, Rational coefficient);
  Fraction add(const Fraction& a, const Fraction& b);
  Fraction multiply(const Fraction& a, const Fraction& b);
  std::optional<Fraction> power(const Fraction& base, const Tree& exponent);
  Fraction integer_power(const Fraction& base, long exponent);
  std::optional<Fraction> number_root(const Rational& base, const Rational& exponent);
  std::optional<Fraction> call(const Tree& tree);
  std::string text(const Fraction& f) const;

  Budget& budget_;
  std::vector<Variable> variables_;
  std::map<std::string, int> index_;
};

}  // namespace counterbeam::grade
