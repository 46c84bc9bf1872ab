#include "grade/evaluate.h"

#include <functional>

#include "base/random.h"

namespace counterbeam::grade {
namespace {

constexpr long kTranscendental = 20;  // cost relative to an addition
constexpr long kMaxSeries = 2000;
constexpr long kMaxPower = 1L << 36;

std::uint64_t hash_text(const std::string& text) {  // FNV-1a, equal on all machines
  std::uint64_t h = 1469598103934665603ull;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return h;
}

// The sign of a symbol at one of the five points with mixed signs, 0 to 4. Two letters of the same
// case, and the two cases of a letter, have different signs at some point: |x| + |y| is not |x +
// y|.
bool is_negative_at(int mixed_point, const std::string& text) {
  std::uint64_t code = text.size() == 1 ? static_cast<unsigned char>(text[0]) : hash_text(text);
  if (text.size() == 1 && text[0] >= 'A' && text[0] <= 'Z') code = ~code;
  return code >> mixed_point & 1;
}

// The number of a rational exponent; null if the tree is not a number.
const Rational* rational(const Tree& tree) {
  return tree->kind == Kind::Number ? &tree->number : nullptr;
}

}  // namespace

Evaluator::Evaluator(unsigned precision, Point point, Budget& budget)
    : math_(precision), point_(point), budget_(budget) {
  budget_.spend(kTranscendental);
}

void Evaluator::set(const std::string& symbol, const Rational& value) {
  bound_[symbol] = value;
}

Complex Evaluator::atom(const std::string& text) {
  const int number = point_.number;
  const DrawKey key{.seed = hash_text(text),
                    .question = static_cast<std::uint32_t>(number),
                    .use = DrawUse::GradingPoints};
  const auto draw = static_cast<long>(uniform_below(key, 1u << 20));
  if (point_.draw == Point::Draw::Whole) return math_.complex(Rational(2 + draw % 30));
  Rational value = ratio(draw + (1 << 18), 1 << 19);
  if (point_.draw == Point::Draw::Signed && (number % 2 == 0 || is_negative_at(0, text)))
    value = -value;  // even points: all negative; odd points: mixed
  if (point_.draw == Point::Draw::Wide) {
    value *= 1 << 5 * (number % 4);
    const int kind = number / 4;  // positive, negative, mixed
    if (kind == 2) value = Integer(value) + (draw % 4 < 2 ? ratio(1, 64) : ratio(63, 64));
    if (kind == 1 || (kind == 2 && is_negative_at(1 + number % 4, text))) value = -value;
  }
  return math_.complex(value);
}

MaybeComplex Evaluator::constant(const std::string& name) {
  if (name == "pi") return math_.complex(math_.pi());
  if (name == "i") return Complex{math_.real(0), math_.real(1)};
  if (name == "e") {
    budget_.spend(kTranscendental);
    return math_.exp(math_.complex(Rational(1)));
  }
  return std::nullopt;
}

MaybeComplex Evaluator::value(const Tree& tree) {
  budget_.spend(1);
  switch (tree->kind) {
    case Kind::Number:
    case Kind::Based:
      return math_.complex(tree->number);
    case Kind::Symbol: {
      const auto bound = bound_.find(tree->name);
      if (bound != bound_.end()) return math_.complex(bound->second);
      return is_constant_name(tree->name) ? constant(tree->name) : atom(tree->name);
    }
    case Kind::Add:
    case Kind::Mul: {
      Complex result = math_.complex(Rational(tree->kind == Kind::Mul ? 1 : 0));
      for (const Tree& arg : tree->args) {
        const auto v = value(arg);
        if (!v) return std::nullopt;
        const MaybeComplex next =
            tree->kind == Kind::Add ? math_.add(result, *v) : math_.multiply(result, *v);
        if (!next) return std::nullopt;
        result = *next;
      }
      return result;
    }
    case Kind::Pow:
      return power(tree->args[0], tree->args[1]);
    case Kind::Degree: {
      const auto v = value(tree->args[0]);
      return v ? math_.multiply(*v, math_.complex(Real(math_.pi() / 180))) : std::nullopt;
    }
    case Kind::Percent: {
      const auto v = value(tree->args[0]);
      return v ? math_.multiply(*v, math_.complex(Rational(1, 100))) : std::nullopt;
    }
    case Kind::Call:
      return call(tree);
    default:
      return std::nullopt;
  }
}

MaybeComplex Evaluator::power(const Tree& base, const Tree& exponent) {
  const auto b = value(base);
  if (!b) return std::nullopt;
  const bool zero = b->re == 0 && b->im == 0;
  const Rational* r = rational(exponent);
  if (r && is_integer(*r) && abs(*r) < kMaxPower) {
    const long n = r->get_num().get_si();
    if (zero && n <= 0) return std::nullopt;
    budget_.spend(4);
    return math_.integer_power(*b, n);
  }
  const bool negative = b->im == 0 && b->re < 0;
  if (negative && r && r->get_den() % 2 == 0) left_the_reals_ = true;
  if (r && *r == Rational(1, 2)) return math_.sqrt(*b);
  if (zero) return r && *r > 0 ? b : std::nullopt;
  budget_.spend(2 * kTranscendental);
  const auto e = value(exponent);
  if (!e) return std::nullopt;
  // As in school mathematics, an odd root of a negative number is real.
  if (r && negative && r->get_den() % 2 != 0) {
    const auto size = math_.power(math_.complex(Real(-b->re)), *e);
    if (!size || r->get_num() % 2 == 0) return size;
    return Complex{Real(-size->re), Real(-size->im)};
  }
  return math_.power(*b, *e);
}

MaybeComplex Evaluator::call(const Tree& tree) {
  const std::string& name = tree->name;
  if (name == "sum" || name == "prod") return series(tree);
  std::vector<Complex> args;
  for (const Tree& arg : tree->args) {
    const auto v = value(arg);
    if (!v) return std::nullopt;
    args.push_back(*v);
  }
  if (args.empty()) return std::nullopt;
  budget_.spend(2 * kTranscendental);
  if (name == "log") {
    for (const Complex& z : args) left_the_reals_ |= z.im == 0 && z.re < 0;
    const auto top = math_.log(args[0]);
    if (!top || args.size() < 2) return top;
    const auto bottom = math_.log(args[1]);
    return bottom ? math_.divide(*top, *bottom) : std::nullopt;
  }
  static const std::string kCircular[] = {"sin",  "cos",    "tan",    "cot",    "sec",
                                          "csc",  "arcsin", "arccos", "arctan", "arccot",
                                          "sinh", "cosh",   "tanh"};
  for (const std::string& known : kCircular)
    if (name == known) return args.size() == 1 ? circular(name, args[0]) : std::nullopt;
  static const std::string kReal[] = {"abs", "floor",     "ceil",  "max", "min",
                                      "gcd", "factorial", "binom", "lcm", "mod"};
  for (const std::string& known : kReal)
    if (name == known) return real_function(name, args);
  return atom(canonical(tree));
}

MaybeComplex Evaluator::circular(const std::string& name, const Complex& z) {
  const auto over = [&](const MaybeComplex& a, const MaybeComplex& b) {
    return a && b ? math_.divide(*a, *b) : std::nullopt;
  };
  const Complex one = math_.complex(Rational(1));
  if (name == "sin") return math_.sin(z);
  if (name == "cos") return math_.cos(z);
  if (name == "tan") return over(math_.sin(z), math_.cos(z));
  if (name == "cot") return over(math_.cos(z), math_.sin(z));
  if (name == "sec") return over(one, math_.cos(z));
  if (name == "csc") return over(one, math_.sin(z));
  if (name == "arcsin") return math_.asin(z);
  if (name == "arctan") return math_.atan(z);
  const Complex quarter = math_.complex(Real(math_.pi() / 2));
  if (name == "arccos" || name == "arccot") {
    const auto angle = name == "arccos" ? math_.asin(z) : math_.atan(z);
    return angle ? MaybeComplex(math_.subtract(quarter, *angle)) : std::nullopt;
  }
  const auto up = math_.exp(z);
  const auto down = math_.exp({Real(-z.re), Real(-z.im)});
  if (!up || !down) return std::nullopt;
  const Complex sum = math_.add(*up, *down), rest = math_.subtract(*up, *down);
  if (name == "tanh") return math_.divide(rest, sum);
  return math_.divide(name == "cosh" ? sum : rest, math_.complex(Rational(2)));
}

MaybeComplex Evaluator::real_function(const std::string& name, const std::vector<Complex>& args) {
  if (name == "abs") return math_.complex(math_.magnitude(args[0]));
  for (const Complex& z : args)
    if (z.im != 0) return std::nullopt;
  const Real& x = args[0].re;
  if (name == "floor") return math_.complex(floor(x));
  if (name == "ceil") return math_.complex(ceil(x));
  if (name == "max" || name == "min") {
    Real best = x;
    for (const Complex& z : args)
      if (name == "max" ? z.re > best : z.re < best) best = z.re;
    return math_.complex(best);
  }
  // The remaining functions take integers.
  std::vector<Rational> whole;
  for (const Complex& z : args) {
    if (floor(z.re) != z.re || exponent_of(z.re) > 200) return std::nullopt;
    whole.emplace_back(z.re);
  }
  std::optional<Rational> result;
  if (name == "factorial") result = factorial(whole[0]);
  if (whole.size() == 2) {
    const Integer a = whole[0].get_num(), b = whole[1].get_num();
    if (name == "binom") result = binomial(whole[0], whole[1]);
    if (name == "gcd") result = Rational(gcd(a, b));
    if (name == "lcm") result = Rational(lcm(a, b));
    if (name == "mod" && b > 0) {
      Integer rest;
      mpz_mod(rest.get_mpz_t(), a.get_mpz_t(), b.get_mpz_t());
      result = Rational(rest);
    }
  }
  return result ? MaybeComplex(math_.complex(*result)) : std::nullopt;
}

MaybeComplex Evaluator::series(const Tree& tree) {
  const std::string& index = tree->args[0]->name;
  const auto low = value(tree->args[1]), high = value(tree->args[2]);
  const bool sum = tree->name == "sum";
  const bool ends_known =
      point_.draw == Point::Draw::Whole ||
      (tree->args[1]->kind == Kind::Number && free_symbols(tree->args[2]).empty());
  // a_k is evaluated as one symbol, not as the k-th element, so such a series cannot be expanded.
  const bool subscripts = canonical(tree->args[3]).find('_') != std::string::npos;
  const bool closed = low && high && ends_known && !subscripts && floor(low->re) == low->re &&
                      floor(high->re) == high->re && exponent_of(high->re) < 20;
  if (!closed) return atom(canonical(tree));
  const long from = low->re.get_si(), to = high->re.get_si();
  if (to - from > kMaxSeries) return std::nullopt;
  const auto before = bound_.find(index);
  const std::optional<Rational> kept =
      before == bound_.end() ? std::nullopt : std::optional(before->second);
  Complex total = math_.complex(Rational(sum ? 0 : 1));
  MaybeComplex result = total;
  for (long k = from; k <= to && result; ++k) {
    bound_[index] = k;
    const auto term = value(tree->args[3]);
    if (!term)
      result = std::nullopt;
    else
      result = sum ? MaybeComplex(math_.add(*result, *term)) : math_.multiply(*result, *term);
  }
  if (kept)
    bound_[index] = *kept;
  else
    bound_.erase(index);
  return result;
}

}  // namespace counterbeam::grade
