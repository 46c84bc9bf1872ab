#include "grade/real.h"

#include <cmath>
#include <limits>

namespace counterbeam::grade {
namespace {

constexpr unsigned kGuardBits = 96;
constexpr long kMaxExponent = 1L << 40;  // of results; GMP's own range is far wider
constexpr long kMaxAngleBits = 48;

Real half(const Real& x) {
  Real result(x);
  mpf_div_2exp(result.get_mpf_t(), x.get_mpf_t(), 1);
  return result;
}

Real scaled(const Real& x, long power) {
  Real result(x);
  if (power >= 0)
    mpf_mul_2exp(result.get_mpf_t(), x.get_mpf_t(), static_cast<unsigned long>(power));
  else
    mpf_div_2exp(result.get_mpf_t(), x.get_mpf_t(), static_cast<unsigned long>(-power));
  return result;
}

bool in_range(const Real& x) {
  const long e = exponent_of(x);
  return e < kMaxExponent && (x == 0 || e > -kMaxExponent);
}

MaybeComplex checked(Complex z) {
  if (!in_range(z.re) || !in_range(z.im)) return std::nullopt;
  return z;
}

}  // namespace

long exponent_of(const Real& x) {
  if (x == 0) return std::numeric_limits<long>::min() / 4;
  long exponent = 0;
  mpf_get_d_2exp(&exponent, x.get_mpf_t());
  return exponent;
}

long exponent_of(const Complex& z) {
  return std::max(exponent_of(z.re), exponent_of(z.im));
}

Arithmetic::Arithmetic(unsigned precision_bits)
    : precision_(precision_bits),
      bits_(precision_bits + kGuardBits),
      pi_(0, bits_),
      ln2_(0, bits_) {
  pi_ = 16 * inverse_series(5, true) - 4 * inverse_series(239, true);
  ln2_ = 18 * inverse_series(26, false) - 2 * inverse_series(4801, false) +
         8 * inverse_series(8749, false);
}

// atan(1/n) if `alternating`, otherwise atanh(1/n).
Real Arithmetic::inverse_series(long n, bool alternating) const {
  const unsigned long square = static_cast<unsigned long>(n) * static_cast<unsigned long>(n);
  Real power = real(1) / n, sum = power;
  for (unsigned long k = 3; exponent_of(power) > -static_cast<long>(bits_); k += 2) {
    power /= square;
    const Real term(power / k, bits_);
    if (alternating && k % 4 == 3)
      sum -= term;
    else
      sum += term;
  }
  return sum;
}

std::optional<Real> Arithmetic::real_exp(const Real& x) const {
  if (exponent_of(x) > 40) return std::nullopt;
  const Real quotient(x / ln2_, bits_);
  const long k = static_cast<long>(std::floor(quotient.get_d()));
  constexpr long kHalvings = 12;
  const Real r = scaled(Real(x - ln2_ * k, bits_), -kHalvings);
  Real term = real(1), sum = real(1);
  for (unsigned long n = 1; n < 400; ++n) {
    term = term * r / n;
    if (exponent_of(term) < -static_cast<long>(bits_)) break;
    sum += term;
  }
  for (long i = 0; i < kHalvings; ++i) sum *= sum;
  return scaled(sum, k);
}

Real Arithmetic::real_log(const Real& x) const {
  long exponent = 0;
  const double mantissa = mpf_get_d_2exp(&exponent, x.get_mpf_t());
  const Real m = scaled(Real(x, bits_), -exponent);
  Real y(std::log(mantissa), bits_);
  for (int i = 0; i < 3; ++i) {  // Halley's method: triples the digits in each step
    const Real e = *real_exp(y);
    y += 2 * (m - e) / (m + e);
  }
  return y + ln2_ * exponent;
}

bool Arithmetic::sin_cos(const Real& x, Real& sine, Real& cosine) const {
  if (exponent_of(x) > kMaxAngleBits) return false;
  const Real quarter = half(pi_);
  const long turns = static_cast<long>(std::nearbyint(Real(x / quarter, bits_).get_d()));
  const Real r(x - quarter * turns, bits_);
  const Real square(-r * r, bits_);
  Real s = r, c = real(1), term = real(1);
  for (unsigned long n = 1; n < 400; ++n) {
    term = term * square / ((2 * n - 1) * (2 * n));
    if (exponent_of(term) < -static_cast<long>(bits_)) break;
    c += term;
    s += Real(term * r / (2 * n + 1), bits_);
  }
  const long quadrant = ((turns % 4) + 4) % 4;
  sine = quadrant == 0 ? s : quadrant == 1 ? c : quadrant == 2 ? Real(-s) : Real(-c);
  cosine = quadrant == 0 ? c : quadrant == 1 ? Real(-s) : quadrant == 2 ? Real(-c) : s;
  return true;
}

Real Arithmetic::atan2(const Real& y, const Real& x) const {
  if (y == 0) return x >= 0 ? real(0) : pi_;
  if (abs(y) > abs(x)) {
    const Real quarter = y > 0 ? half(pi_) : Real(-half(pi_));
    if (x == 0) return quarter;
    return quarter - atan2(x * (y > 0 ? 1 : -1), abs(y));
  }
  Real t(y / x, bits_);
  constexpr int kHalvings = 6;
  for (int i = 0; i < kHalvings; ++i) t = t / (1 + ::sqrt(Real(1 + t * t, bits_)));
  const Real square(-t * t, bits_);
  Real power = t, sum = t;
  for (unsigned long k = 3; k < 800 && exponent_of(power) > -static_cast<long>(bits_); k += 2) {
    power *= square;
    sum += Real(power / k, bits_);
  }
  sum = scaled(sum, kHalvings);
  if (x < 0) sum += y > 0 ? pi_ : Real(-pi_);
  return sum;
}

Complex Arithmetic::add(const Complex& a, const Complex& b) const {
  return {a.re + b.re, a.im + b.im};
}

Complex Arithmetic::subtract(const Complex& a, const Complex& b) const {
  return {a.re - b.re, a.im - b.im};
}

MaybeComplex Arithmetic::multiply(const Complex& a, const Complex& b) const {
  return checked({a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re});
}

MaybeComplex Arithmetic::divide(const Complex& a, const Complex& b) const {
  const Real norm(b.re * b.re + b.im * b.im, bits_);
  if (norm == 0) return std::nullopt;
  return checked({(a.re * b.re + a.im * b.im) / norm, (a.im * b.re - a.re * b.im) / norm});
}

Real Arithmetic::magnitude(const Complex& z) const {
  if (z.im == 0) return abs(z.re);
  return ::sqrt(Real(z.re * z.re + z.im * z.im, bits_));
}

MaybeComplex Arithmetic::exp(const Complex& z) const {
  const auto scale = real_exp(z.re);
  Real s = real(0), c = real(1);
  if (!scale || (z.im != 0 && !sin_cos(z.im, s, c))) return std::nullopt;
  return checked({*scale * c, *scale * s});
}

MaybeComplex Arithmetic::log(const Complex& z) const {
  const Real r = magnitude(z);
  if (r == 0) return std::nullopt;
  return Complex{real_log(r), atan2(z.im, z.re)};
}

MaybeComplex Arithmetic::sqrt(const Complex& z) const {
  if (z.im == 0) {
    const Real root = ::sqrt(Real(abs(z.re), bits_));
    return z.re < 0 ? Complex{real(0), root} : Complex{root, real(0)};
  }
  const Real r = magnitude(z);
  const Real re = ::sqrt(half(Real(r + abs(z.re), bits_)));
  const Real other(abs(z.im) / (2 * re), bits_);
  const int sign = z.im < 0 ? -1 : 1;
  return z.re >= 0 ? Complex{re, other * sign} : Complex{other, re * sign};
}

MaybeComplex Arithmetic::sin(const Complex& z) const {
  Real s = real(0), c = real(0);
  if (!sin_cos(z.re, s, c)) return std::nullopt;
  if (z.im == 0) return Complex{s, real(0)};
  const auto up = real_exp(z.im);
  const auto down = real_exp(Real(-z.im));
  if (!up || !down) return std::nullopt;
  return checked({s * half(*up + *down), c * half(*up - *down)});
}

MaybeComplex Arithmetic::cos(const Complex& z) const {
  return sin({half(pi_) - z.re, Real(-z.im)});
}

MaybeComplex Arithmetic::asin(const Complex& z) const {
  const auto square = multiply(z, z);
  if (!square) return std::nullopt;
  const auto root = sqrt(subtract(complex(Rational(1)), *square));
  const auto angle = log(add({Real(-z.im), z.re}, *root));
  if (!angle) return std::nullopt;
  return Complex{angle->im, z.im == 0 && abs(z.re) <= 1 ? real(0) : Real(-angle->re)};
}

MaybeComplex Arithmetic::atan(const Complex& z) const {
  if (z.im == 0) return Complex{atan2(z.re, real(1)), real(0)};
  const Complex one = complex(Rational(1)), turned{Real(-z.im), z.re};
  const auto minus = log(subtract(one, turned));
  const auto plus = log(add(one, turned));
  if (!minus || !plus) return std::nullopt;
  const Complex d = subtract(*minus, *plus);
  return Complex{Real(-half(d.im)), half(d.re)};
}

MaybeComplex Arithmetic::integer_power(const Complex& z, long n) const {
  MaybeComplex result = complex(Rational(1)), square = z;
  for (unsigned long k = static_cast<unsigned long>(n < 0 ? -n : n); k; k >>= 1) {
    if (k & 1) result = multiply(*result, *square);
    if (k > 1) square = multiply(*square, *square);
    if (!result || !square) return std::nullopt;
  }
  return n < 0 ? divide(complex(Rational(1)), *result) : result;
}

MaybeComplex Arithmetic::power(const Complex& base, const Complex& exponent) const {
  const auto l = log(base);
  if (!l) return std::nullopt;
  const auto product = multiply(*l, exponent);
  return product ? exp(*product) : std::nullopt;
}

}  // namespace counterbeam::grade
