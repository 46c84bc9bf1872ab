#include "grade/number.h"

#include <string>

#include "grade/words.h"

namespace counterbeam::grade {
namespace {

constexpr std::size_t kMaxLiteral = 4000;  // digits of one literal
constexpr long kMaxFactorial = 3000;
constexpr long kMaxDecimalExponent = 4000;

Rational power_of_ten(long exponent) {
  Integer ten;
  mpz_ui_pow_ui(ten.get_mpz_t(), 10,
                static_cast<unsigned long>(exponent < 0 ? -exponent : exponent));
  return exponent < 0 ? Rational(1, ten) : Rational(ten);
}

}  // namespace

std::size_t bits(const Rational& value) {
  return mpz_sizeinbase(value.get_num_mpz_t(), 2) + mpz_sizeinbase(value.get_den_mpz_t(), 2);
}

Rational ratio(const Integer& top, const Integer& bottom) {
  Rational result(top, bottom);
  result.canonicalize();
  return result;
}

bool is_integer(const Rational& value) {
  return value.get_den() == 1;
}

std::optional<Rational> parse_decimal(std::string_view text) {
  if (text.empty() || text.size() > kMaxLiteral) return std::nullopt;
  std::string digits;
  long exponent = 0;
  bool point = false;
  std::size_t i = 0;
  for (; i < text.size() && (is_digit(text[i]) || (text[i] == '.' && !point)); ++i) {
    if (text[i] == '.') {
      point = true;
      continue;
    }
    digits += text[i];
    if (point) --exponent;
  }
  if (digits.empty()) return std::nullopt;
  if (i < text.size()) {
    if (text[i] != 'e' && text[i] != 'E') return std::nullopt;
    std::size_t start = ++i;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    if (i == text.size() || text.size() - i > 5) return std::nullopt;
    for (std::size_t k = i; k < text.size(); ++k)
      if (!is_digit(text[k])) return std::nullopt;
    if (text[start] == '+') ++start;
    exponent += std::stol(std::string(text.substr(start)));
  }
  if (exponent > kMaxDecimalExponent || exponent < -kMaxDecimalExponent) return std::nullopt;
  return Rational(Integer(digits, 10)) * power_of_ten(exponent);
}

std::optional<Rational> integer_power(const Rational& base, long exponent) {
  if (base == 0 && exponent <= 0) return std::nullopt;
  const unsigned long n = static_cast<unsigned long>(exponent < 0 ? -exponent : exponent);
  const bool unit = base == 1 || base == -1 || base == 0;
  if (!unit && (n > kMaxBits || bits(base) * n > 2 * kMaxBits)) return std::nullopt;
  const unsigned long steps = unit ? n % 2 + 2 : n;
  Rational result;
  mpz_pow_ui(result.get_num_mpz_t(), base.get_num_mpz_t(), steps);
  mpz_pow_ui(result.get_den_mpz_t(), base.get_den_mpz_t(), steps);
  return exponent < 0 ? Rational(1 / result) : result;
}

std::optional<Rational> factorial(const Rational& n) {
  if (!is_integer(n) || n < 0 || n > kMaxFactorial) return std::nullopt;
  Integer result;
  mpz_fac_ui(result.get_mpz_t(), n.get_num().get_ui());
  return Rational(result);
}

std::optional<Rational> binomial(const Rational& n, const Rational& k) {
  if (!is_integer(n) || !is_integer(k) || n < 0 || k < 0 || n > kMaxFactorial) return std::nullopt;
  if (k > n) return Rational(0);
  Integer result;
  mpz_bin_uiui(result.get_mpz_t(), n.get_num().get_ui(), k.get_num().get_ui());
  return Rational(result);
}

}  // namespace counterbeam::grade
