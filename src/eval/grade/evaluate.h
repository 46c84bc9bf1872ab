// The value of a tree at a point, in complex numbers of a chosen precision. Symbols take keyed
// pseudo-random values, and so do applications of unknown functions, by their canonical text: the
// same atom has the same value in both answers.
#pragma once

#include <map>
#include <string>

#include "eval/grade/budget.h"
#include "eval/grade/real.h"
#include "eval/grade/tree.h"

namespace counterbeam::grade {

class Evaluator {
 public:
  // Points differ by `point`; `signs` lets symbols be negative.
  Evaluator(unsigned precision, int point, bool signs, Budget& budget);

  // Fixes a symbol, as a bound variable or the unknown of an inequality.
  void set(const std::string& symbol, const Rational& value);

  // Nothing where the value does not exist or is not known.
  MaybeComplex value(const Tree& tree);

  const Arithmetic& arithmetic() const { return math_; }

 private:
  MaybeComplex power(const Tree& base, const Tree& exponent);
  MaybeComplex call(const Tree& tree);
  MaybeComplex real_function(const std::string& name, const std::vector<Complex>& args);
  MaybeComplex circular(const std::string& name, const Complex& z);
  MaybeComplex series(const Tree& tree);
  MaybeComplex constant(const std::string& name);
  Complex atom(const std::string& text);

  Arithmetic math_;
  int point_;
  bool signs_;
  Budget& budget_;
  std::map<std::string, Rational> bound_;
};

}  // namespace counterbeam::grade
