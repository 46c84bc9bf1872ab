#include "grade/normal_form.h"

#include <algorithm>

namespace counterbeam::grade {
namespace {

constexpr std::size_t kMaxTerms = 400;
constexpr long kMaxDegree = 64;
constexpr unsigned long kMaxPrime = 2000;

}  // namespace

int NormalForms::variable(const Variable& wanted) {
  const auto [at, fresh] = index_.try_emplace(wanted.name, static_cast<int>(variables_.size()));
  if (fresh) variables_.push_back(wanted);
  return at->second;
}

Polynomial NormalForms::single(int index, long exponent) const {
  return {{Monomial{{index, exponent}}, Rational(1)}};
}

Fraction NormalForms::number(const Rational& value) const {
  Fraction f{{}, {{Monomial{}, Rational(1)}}};
  if (value != 0) f.top[Monomial{}] = value;
  return f;
}

Fraction NormalForms::atom(const std::string& name, bool plain) {
  Variable v{(plain ? "" : "@") + name, plain, 0, 0};
  if (name == "i") v.root = 2, v.power = -1, v.plain = false;
  return {single(variable(v)), number(1).top};
}

Polynomial NormalForms::add(const Polynomial& a, const Polynomial& b, const Rational& scale) {
  Polynomial sum = a;
  for (const auto& [monomial, coefficient] : b) {
    budget_.spend(1);
    Rational& slot = sum[monomial];
    slot += coefficient * scale;
    if (slot == 0) sum.erase(monomial);
  }
  return sum;
}

void NormalForms::add_product(Polynomial& sum, const Monomial& a, const Monomial& b,
                              Rational coefficient) {
  Monomial merged;
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    std::pair<int, long> part;
    if (j == b.size() || (i < a.size() && a[i].first < b[j].first))
      part = a[i++];
    else if (i == a.size() || b[j].first < a[i].first)
      part = b[j++];
    else
      part = {a[i].first, a[i].second + b[j].second}, ++i, ++j;
    const Variable& v = variables_[static_cast<std::size_t>(part.first)];
    if (v.root && part.second >= v.root) {
      const auto factor = grade::integer_power(Rational(v.power), part.second / v.root);
      if (!factor) failed("the answer is too large to compare");
      coefficient *= *factor;
      part.second %= v.root;
    }
    if (part.second > 4096) failed("the answer is too large to compare");
    if (part.second) merged.push_back(part);
  }
  if (bits(coefficient) > kMaxBits) failed("the answer is too large to compare");
  budget_.spend(1 + static_cast<long>(merged.size() + bits(coefficient) / 512));
  Rational& slot = sum[merged];
  slot += coefficient;
  if (slot == 0) sum.erase(merged);
}

Polynomial NormalForms::multiply(const Polynomial& a, const Polynomial& b) {
  Polynomial product;
  for (const auto& [ma, ca] : a)
    for (const auto& [mb, cb] : b) {
      add_product(product, ma, mb, ca * cb);
      if (product.size() > kMaxTerms) failed("the answer is too large to compare");
    }
  return product;
}

Fraction NormalForms::add(const Fraction& a, const Fraction& b) {
  if (a.bottom == b.bottom) return {add(a.top, b.top, 1), a.bottom};
  Fraction sum{add(multiply(a.top, b.bottom), multiply(b.top, a.bottom), 1),
               multiply(a.bottom, b.bottom)};
  if (sum.bottom.empty()) failed("a divisor is zero");
  return sum;
}

Fraction NormalForms::multiply(const Fraction& a, const Fraction& b) {
  Fraction product{multiply(a.top, b.top), multiply(a.bottom, b.bottom)};
  if (product.bottom.empty()) failed("a divisor is zero");  // roots of one number can cancel
  return product;
}

Fraction NormalForms::integer_power(const Fraction& base, long exponent) {
  Fraction square = exponent < 0 ? Fraction{base.bottom, base.top} : base;
  Fraction result = number(1);
  for (long n = exponent < 0 ? -exponent : exponent; n; n >>= 1) {
    if (n & 1) result = multiply(result, square);
    if (n > 1) square = multiply(square, square);
  }
  return result;
}

// Writes roots of a number as roots of its prime factors: 12^(1/2) = 2 * @root 3 2.
std::optional<Fraction> NormalForms::number_root(const Rational& base, const Rational& exponent) {
  if (base < 0) {
    if (exponent.get_den() != 2) return std::nullopt;
    const auto rest = number_root(-base, exponent);
    if (!rest || !exponent.get_num().fits_slong_p()) return std::nullopt;
    return multiply(*rest, integer_power(atom("i", false), exponent.get_num().get_si()));
  }
  if (!exponent.get_den().fits_slong_p() || exponent.get_den() > 12 || abs(exponent) > 64 ||
      bits(base) > 256)
    return std::nullopt;
  const long root = exponent.get_den().get_si(), times = exponent.get_num().get_si();
  Fraction result = number(1);
  for (const bool bottom : {false, true}) {
    Integer rest = bottom ? base.get_den() : base.get_num();
    const auto take = [&](const Integer& prime, long count) {
      Variable v{"@root " + prime.get_str() + " " + std::to_string(root), false, root, prime};
      const Fraction p{single(variable(v)), number(1).top};
      result = multiply(result, integer_power(p, (bottom ? -1 : 1) * count * times));
    };
    for (unsigned long p = 2; p < kMaxPrime && rest > 1; p += p == 2 ? 1 : 2) {
      long count = 0;
      while (mpz_divisible_ui_p(rest.get_mpz_t(), p)) {
        rest /= p;
        ++count;
      }
      if (count) take(Integer(p), count);
    }
    if (rest > 1) take(rest, 1);
  }
  return result;
}

std::optional<Fraction> NormalForms::power(const Fraction& base, const Tree& exponent) {
  const auto exponent_form = form(exponent);
  if (!exponent_form) return std::nullopt;
  const auto n = constant(*exponent_form);
  const auto b = constant(base);
  if (n && is_integer(*n) && abs(*n) <= kMaxBits) {
    const long k = n->get_num().get_si();
    if (base.top.empty() && k <= 0) return std::nullopt;
    if (b) {
      const auto value = grade::integer_power(*b, k);
      return value ? std::optional(number(*value)) : std::nullopt;
    }
    const bool monomial = base.top.size() == 1 && base.bottom.size() == 1;
    if (std::abs(k) <= kMaxDegree || (monomial && std::abs(k) <= 4096))
      return integer_power(base, k);
  }
  if (n && b && *b != 0)
    if (auto root = number_root(*b, *n)) return root;
  if (base.top.empty()) return std::nullopt;
  return atom("pow " + text(base) + " ^ " + text(*exponent_form), false);
}

std::optional<Fraction> NormalForms::call(const Tree& tree) {
  std::vector<Fraction> args;
  std::string name = tree->name;
  if (name == "sum" || name == "prod") return atom(canonical(tree), false);
  for (const Tree& arg : tree->args) {
    const auto f = form(arg);
    if (!f) return std::nullopt;
    args.push_back(*f);
    name += " " + text(*f);
  }
  std::optional<Rational> value;
  const auto x = args.empty() ? std::nullopt : constant(args[0]);
  if (x && tree->name == "factorial") value = factorial(*x);
  if (x && tree->name == "abs") value = abs(*x);
  if (x && tree->name == "binom" && constant(args[1])) value = binomial(*x, *constant(args[1]));
  if (value) return number(*value);
  return atom(name, false);
}

std::optional<Fraction> NormalForms::form(const Tree& tree) {
  budget_.spend(1);
  switch (tree->kind) {
    case Kind::Number:
      return number(tree->number);
    case Kind::Based:
      return number(tree->number);
    case Kind::Symbol:
      if (tree->name == "infty") return std::nullopt;
      return atom(tree->name, !is_constant_name(tree->name));
    case Kind::Degree: {
      const auto inner = form(tree->args[0]);
      if (!inner) return std::nullopt;
      return multiply(*inner, multiply(atom("pi", false), number(Rational(1, 180))));
    }
    case Kind::Percent: {
      const auto inner = form(tree->args[0]);
      return inner ? std::optional(multiply(*inner, number(Rational(1, 100)))) : std::nullopt;
    }
    case Kind::Add:
    case Kind::Mul: {
      std::optional<Fraction> result;
      for (const Tree& arg : tree->args) {
        const auto f = form(arg);
        if (!f) return std::nullopt;
        if (!result)
          result = f;
        else
          result = tree->kind == Kind::Add ? add(*result, *f) : multiply(*result, *f);
      }
      return result;
    }
    case Kind::Pow: {
      const auto base = form(tree->args[0]);
      return base ? power(*base, tree->args[1]) : std::nullopt;
    }
    case Kind::Call:
      return call(tree);
    default:
      return std::nullopt;
  }
}

bool NormalForms::equal(const Fraction& a, const Fraction& b) {
  return add(multiply(a.top, b.bottom), multiply(b.top, a.bottom), -1).empty();
}

std::optional<Rational> NormalForms::proportion(const Fraction& a, const Fraction& b) {
  if (a.top.empty() || b.top.empty() || a.top.size() != b.top.size()) return std::nullopt;
  const Rational factor = a.top.begin()->second / b.top.begin()->second;
  for (auto i = a.top.begin(), j = b.top.begin(); i != a.top.end(); ++i, ++j)
    if (i->first != j->first || i->second != factor * j->second) return std::nullopt;
  return factor;
}

bool NormalForms::exact(const Fraction& f) const {
  for (const Polynomial* p : {&f.top, &f.bottom})
    for (const auto& [monomial, coefficient] : *p)
      for (const auto& [index, exponent] : monomial)
        if (!variables_[static_cast<std::size_t>(index)].plain) return false;
  return true;
}

std::optional<Rational> NormalForms::constant(const Fraction& f) const {
  if (f.top.empty()) return Rational(0);
  if (f.top.size() != 1 || f.bottom.size() != 1 || !f.top.begin()->first.empty() ||
      !f.bottom.begin()->first.empty())
    return std::nullopt;
  return f.top.begin()->second / f.bottom.begin()->second;
}

std::optional<std::pair<Rational, Rational>> NormalForms::linear(const Fraction& f,
                                                                 const std::string& symbol) const {
  if (f.bottom.size() != 1 || !f.bottom.begin()->first.empty()) return std::nullopt;
  const Rational scale = f.bottom.begin()->second;
  Rational slope = 0, offset = 0;
  for (const auto& [monomial, coefficient] : f.top) {
    if (monomial.empty())
      offset = coefficient / scale;
    else if (monomial.size() == 1 && monomial[0].second == 1 &&
             variables_[static_cast<std::size_t>(monomial[0].first)].name == symbol)
      slope = coefficient / scale;
    else
      return std::nullopt;
  }
  return std::pair(slope, offset);
}

// Terms are sorted by the names of their variables and scaled so that the first coefficient of the
// denominator is 1.
std::string NormalForms::text(const Fraction& f) const {
  const auto terms = [&](const Polynomial& p) {
    std::vector<std::string> out;
    for (const auto& [monomial, coefficient] : p) {
      std::vector<std::string> factors;
      for (const auto& [index, exponent] : monomial)
        factors.push_back(variables_[static_cast<std::size_t>(index)].name + "^" +
                          std::to_string(exponent));
      std::sort(factors.begin(), factors.end());
      std::string term;
      for (const std::string& factor : factors) term += factor + "*";
      out.push_back(term + "|" + Rational(coefficient / f.bottom.begin()->second).get_str());
    }
    std::sort(out.begin(), out.end());
    std::string all = "(";
    for (const std::string& term : out) all += term + "+";
    return all + ")";
  };
  const std::string result = terms(f.top) + "/" + terms(f.bottom);
  if (result.size() > 20000) failed("the answer is too large to compare");
  return result;
}

}  // namespace counterbeam::grade
