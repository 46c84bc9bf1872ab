// The grader's exact numbers: GMP rationals of bounded size, so that no answer can use much memory
// or time.
#pragma once

#include <gmpxx.h>

#include <optional>
#include <string_view>

namespace counterbeam::grade {

using Integer = mpz_class;
using Rational = mpq_class;

// Limit on the size of exact numbers; anything larger is computed with high-precision floats.
inline constexpr std::size_t kMaxBits = 1 << 15;

std::size_t bits(const Rational& value);

// top / bottom in lowest terms. REQUIRES: bottom != 0
Rational ratio(const Integer& top, const Integer& bottom);

bool is_integer(const Rational& value);

// Parses "12", "12.50", ".5", "6.7e-5"; empty for anything else.
std::optional<Rational> parse_decimal(std::string_view text);

// base ^ exponent, if it is defined and small enough.
std::optional<Rational> integer_power(const Rational& base, long exponent);

std::optional<Rational> factorial(const Rational& n);

std::optional<Rational> binomial(const Rational& n, const Rational& k);

}  // namespace counterbeam::grade
