// Evaluates a tree at a point, in complex numbers of a chosen precision. Symbols and applications
// of unknown functions get pseudo-random values keyed by their canonical text, so that the same
// atom has the same value in both answers.
#pragma once

#include <map>
#include <string>

#include "grade/budget.h"
#include "grade/real.h"
#include "grade/tree.h"

namespace counterbeam::grade {

// Selects the values of symbols. Points of one kind of draw differ by their number.
struct Point {
  enum class Draw {
    Positive,  // in [0.5, 2.5)
    Signed,    // the same with either sign
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

  // Fixes the value of a symbol: a bound variable, or the unknown of an inequality.
  void set(const std::string& symbol, const Rational& value);

  // Empty if the value does not exist or is not known.
  MaybeComplex value(const Tree& tree);

  const Arithmetic& arithmetic() const { return math_; }

  // Whether the evaluation took a root or logarithm of a negative number.
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
