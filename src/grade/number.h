// Exact numbers of the grader: GMP rationals with a bound on their size, so that no answer can ask
// for more memory or time than a page of digits.
#pragma once

#include <gmpxx.h>

#include <optional>
#include <string_view>

namespace counterbeam::grade {

using Integer = mpz_class;
using Rational = mpq_class;

// No exact number grows past this many bits; what would is left to high-precision floats.
inline constexpr std::size_t kMaxBits = 1 << 15;

std::size_t bits(const Rational& value);

// top / bottom in lowest terms. REQUIRES bottom != 0.
Rational ratio(const Integer& top, const Integer& bottom);

bool is_integer(const Rational& value);

// "12", "12.50", ".5", "6.7e-5"; nothing for anything else.
std::optional<Rational> parse_decimal(std::string_view text);

// base ^ exponent where it is defined and small enough.
std::optional<Rational> integer_power(const Rational& base, long exponent);

std::optional<Rational> factorial(const Rational& n);

std::optional<Rational> binomial(const Rational& n, const Rational& k);

}  // namespace counterbeam::grade
