// The value of a tree at a point, in complex numbers of a chosen precision. Symbols take keyed
// pseudo-random values, and so do applications of unknown functions, by their canonical text: the
// same atom has the same value in both answers.
#pragma once

#include <map>
#include <string>

#include "grade/budget.h"
#include "grade/real.h"
#include "grade/tree.h"

namespace counterbeam::grade {

// Where symbols are put. Points of one draw differ by their number.
struct Point {
  enum class Draw {
    Positive,  // in [0.5, 2.5)
    Signed,    // the same, of either sign
    Wide,   // kWidePoints of them: from 0.5 to 81,920, of either sign, some close to whole numbers
    Whole,  // 2 to 31
  };
  int number = 0;
  Draw draw = Draw::Positive;
};
inline constexpr int kWidePoints = 12;

class Evaluator {
 public:
  Evaluator(unsigned precision, Point point, Budget& budget);

  // Fixes a symbol, as a bound variable or the unknown of an inequality.
  void set(const std::string& symbol, const Rational& value);

  // Nothing where the value does not exist or is not known.
  MaybeComplex value(const Tree& tree);

  const Arithmetic& arithmetic() const { return math_; }

  // Whether a root or logarithm of a negative number was taken on the way.
  bool left_the_reals() const { return left_the_reals_; }

 private:
  MaybeComplex power(const Tree& base, const Tree& exponent);
  MaybeComplex call(const Tree& tree);
  MaybeComplex real_function(const std::string& name, const std::vector<Complex>& args);
  MaybeComplex circular(const std::string& name, const Complex& z);
  MaybeComplex series(const Tree& tree);
  MaybeComplex constant(const std::string& name);
  Complex atom(const std::string& text);

  Arithmetic math_;
  Point point_;
  Budget& budget_;
  bool left_the_reals_ = false;
  std::map<std::string, Rational> bound_;
};

}  // namespace counterbeam::grade
