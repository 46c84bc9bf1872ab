// Real and complex arithmetic of a chosen precision on GMP floats, with the elementary functions
// that answers use. A value that does not exist (1/0, log 0) or exceeds the exponent range is
// nullopt.
#pragma once

#include <gmpxx.h>

#include <optional>

#include "grade/number.h"

namespace counterbeam::grade {

using Real = mpf_class;

struct Complex {
  Real re, im;
};
using MaybeComplex = std::optional<Complex>;

// Binary exponent of |x|: 2^(e-1) <= |x| < 2^e; a very negative number for zero.
long exponent_of(const Real& x);
long exponent_of(const Complex& z);

class Arithmetic {
 public:
  explicit Arithmetic(unsigned precision_bits);

  unsigned precision() const { return precision_; }
  Real real(long value) const { return Real(value, bits_); }
  Real real(const Rational& value) const { return Real(value, bits_); }
  Complex complex(const Rational& value) const { return {real(value), real(0)}; }
  Complex complex(const Real& re) const { return {re, real(0)}; }
  const Real& pi() const { return pi_; }

  Complex add(const Complex& a, const Complex& b) const;
  Complex subtract(const Complex& a, const Complex& b) const;
  MaybeComplex multiply(const Complex& a, const Complex& b) const;
  MaybeComplex divide(const Complex& a, const Complex& b) const;
  Real magnitude(const Complex& z) const;

  MaybeComplex exp(const Complex& z) const;
  MaybeComplex log(const Complex& z) const;  // principal
  MaybeComplex sqrt(const Complex& z) const;
  MaybeComplex sin(const Complex& z) const;
  MaybeComplex cos(const Complex& z) const;
  MaybeComplex asin(const Complex& z) const;
  MaybeComplex atan(const Complex& z) const;
  MaybeComplex integer_power(const Complex& z, long n) const;
  MaybeComplex power(const Complex& base, const Complex& exponent) const;  // principal

 private:
  std::optional<Real> real_exp(const Real& x) const;
  Real real_log(const Real& x) const;  // REQUIRES: x > 0
  bool sin_cos(const Real& x, Real& sine, Real& cosine) const;
  Real atan2(const Real& y, const Real& x) const;
  Real inverse_series(long n, bool alternating) const;

  unsigned precision_;  // bits requested
  unsigned bits_;       // bits used internally
  Real pi_, ln2_;
};

}  // namespace counterbeam::grade
