#include "grade/equality.h"

#include <algorithm>
#include <initializer_list>

#include "grade/evaluate.h"
#include "grade/normal_form.h"

namespace counterbeam::grade {
namespace {

constexpr unsigned kLow = 160, kHigh = 320;  // bits
constexpr int kWholePoints = 16;
constexpr long kVanishing = 60;  // bits by which a true zero shrinks, at least, from kLow to kHigh

bool is_real(const Complex& z) {
  return z.im == 0 || exponent_of(z.im) < exponent_of(z.re) - static_cast<long>(kLow) / 2;
}

enum class Outcome { Same, Different, Unknown };

// Compares two values at one point in two precisions. The computed difference of equal values
// shrinks with the precision; that of different values does not.
template <typename Difference>
Outcome compare_at(Point point, Budget& budget, Difference&& difference) {
  Evaluator low(kLow, point, budget), high(kHigh, point, budget);
  long scale_low = 0, scale_high = 0;
  const auto d_low = difference(low, scale_low);
  const auto d_high = difference(high, scale_high);
  if (!d_low || !d_high) return Outcome::Unknown;
  if (d_high->re == 0 && d_high->im == 0) return Outcome::Same;
  const long e_high = exponent_of(*d_high), e_low = exponent_of(*d_low);
  if (e_high < scale_high - static_cast<long>(kHigh) + 40) return Outcome::Same;
  // Both values are close to zero, so the relative size means nothing, but the difference shrinks.
  const bool vanishing = e_low < -static_cast<long>(kLow) + 60 && e_high < e_low - kVanishing;
  return vanishing ? Outcome::Same : Outcome::Different;
}

bool calls(const Tree& tree, std::initializer_list<std::string_view> names) {
  const bool here =
      tree->kind == Kind::Call && std::find(names.begin(), names.end(), tree->name) != names.end();
  return here || std::any_of(tree->args.begin(), tree->args.end(),
                             [&](const Tree& arg) { return calls(arg, names); });
}

bool has_root(const Tree& tree) {
  const bool here = tree->kind == Kind::Pow && tree->args[1]->kind == Kind::Number &&
                    !is_integer(tree->args[1]->number);
  return here || std::any_of(tree->args.begin(), tree->args.end(), has_root);
}

// Whether there is a sum or product whose bounds are not numbers.
bool has_open_series(const Tree& tree) {
  const bool here = tree->kind == Kind::Call && (tree->name == "sum" || tree->name == "prod") &&
                    !(free_symbols(tree->args[1]).empty() && free_symbols(tree->args[2]).empty());
  return here || std::any_of(tree->args.begin(), tree->args.end(), has_open_series);
}

// Functions with kinks or steps agree with smooth ones on whole intervals, so they are sampled over
// a wide range. Functions of integers are sampled at integers.
std::vector<Point> points_for(const Tree& tree) {
  std::vector<Point> points;
  const auto add = [&](Point::Draw draw, int from, int to) {
    for (int number = from; number < to; ++number) points.push_back({number, draw});
  };
  if (free_symbols(tree).empty()) return {Point{}};
  if (calls(tree, {"factorial", "binom", "gcd", "lcm", "mod"}) || has_open_series(tree)) {
    add(Point::Draw::Whole, 0, kWholePoints);
    return points;
  }
  add(Point::Draw::Positive, 0, 2);
  add(Point::Draw::Signed, 2, 4);
  const bool steps = calls(tree, {"floor", "ceil"});
  if (steps || has_root(tree) || calls(tree, {"abs", "max", "min"}))
    add(Point::Draw::Wide, 0, kWidePoints);
  if (steps) add(Point::Draw::Whole, 0, kWholePoints);
  return points;
}

bool same_at_points(const Tree& a, const Tree& b, Budget& budget, Branch branch) {
  int shown = 0;
  for (const Point& point : points_for(difference(a, b))) {
    bool real = true;
    const Outcome outcome =
        compare_at(point, budget, [&](Evaluator& at, long& scale) -> MaybeComplex {
          const auto x = at.value(a), y = at.value(b);
          if (!x || !y) return std::nullopt;
          real = is_real(*x) && is_real(*y) && !at.left_the_reals();
          scale = std::max(exponent_of(*x), exponent_of(*y));
          return at.arithmetic().subtract(*x, *y);
        });
    if (outcome == Outcome::Same) ++shown;
    const bool positive = point.draw == Point::Draw::Positive || point.draw == Point::Draw::Whole;
    if (outcome == Outcome::Different && (positive || real || branch == Branch::Principal))
      return false;
  }
  return shown > 0;
}

}  // namespace

bool same_value(const Tree& a, const Tree& b, Budget& budget, Branch branch) {
  if (a->kind == Kind::Number && b->kind == Kind::Number) return a->number == b->number;
  if (canonical(a) == canonical(b)) return true;
  try {
    NormalForms forms(budget);
    const auto fa = forms.form(a), fb = forms.form(b);
    if (fa && fb) {
      if (forms.equal(*fa, *fb)) return true;
      if (forms.exact(*fa) && forms.exact(*fb)) return false;
    }
  } catch (const Error&) {
    // Too large for exact forms; compare values instead.
  }
  return same_at_points(a, b, budget, branch);
}

bool same_up_to_factor(const Tree& a, const Tree& b, Budget& budget, int& sign) {
  NormalForms forms(budget);
  const auto fa = forms.form(a), fb = forms.form(b);
  if (!fa || !fb) return false;
  sign = 1;
  if (forms.zero(*fa) || forms.zero(*fb)) return forms.zero(*fa) && forms.zero(*fb);
  if (const auto factor = forms.proportion(*fa, *fb)) {
    sign = *factor > 0 ? 1 : -1;
    return true;
  }
  if (forms.exact(*fa) && forms.exact(*fb)) return false;
  // a(p) b(q) = a(q) b(p) for random points p, q.
  for (int point = 0; point < 2; ++point) {
    const Outcome outcome =
        compare_at({point}, budget, [&](Evaluator& at, long& scale) -> MaybeComplex {
          Evaluator other(at.arithmetic().precision(), {point + 10}, budget);
          const auto ap = at.value(a), bp = at.value(b), aq = other.value(a), bq = other.value(b);
          if (!ap || !bp || !aq || !bq) return std::nullopt;
          const auto left = at.arithmetic().multiply(*ap, *bq),
                     right = at.arithmetic().multiply(*aq, *bp);
          if (!left || !right) return std::nullopt;
          sign = (ap->re > 0) == (bp->re > 0) ? 1 : -1;
          scale = std::max(exponent_of(*left), exponent_of(*right));
          return at.arithmetic().subtract(*left, *right);
        });
    if (outcome != Outcome::Same) return false;
  }
  return true;
}

bool long_decimal_of(const Tree& decimal, const Tree& value, Budget& budget) {
  if (decimal->kind != Kind::Number || decimal->name.empty()) return false;
  const std::string& literal = decimal->name;
  const std::size_t point = literal.find('.');
  if (point == std::string::npos || literal.find_first_of("eE") != std::string::npos) return false;
  const std::size_t first = literal.find_first_of("123456789");
  if (first == std::string::npos) return false;
  const std::size_t significant = literal.size() - first - (first < point ? 1 : 0);
  if (significant < 12) return false;
  Evaluator at(kLow, {}, budget);
  if (!free_symbols(value).empty()) return false;
  const auto v = at.value(value);
  if (!v || !is_real(*v)) return false;
  const auto unit = integer_power(10, -static_cast<long>(literal.size() - point - 1));
  if (!unit) return false;
  return abs(Real(v->re - at.arithmetic().real(decimal->number))) <= at.arithmetic().real(*unit);
}

std::optional<double> approximate(const Tree& tree, Budget& budget) {
  if (!free_symbols(tree).empty()) return std::nullopt;
  Evaluator at(kLow, {}, budget);
  const auto v = at.value(tree);
  if (!v || !is_real(*v)) return std::nullopt;
  return v->re.get_d();
}

namespace {

Tree entrywise(const Tree& matrix, const Tree& factor) {
  std::vector<Tree> entries;
  for (const Tree& entry : matrix->args) entries.push_back(make(Kind::Mul, {factor, entry}));
  return make_matrix(std::move(entries), matrix->rows);
}

Tree matrix_product(const Tree& a, const Tree& b) {
  const int inner = static_cast<int>(a->args.size()) / a->rows;
  const int columns = static_cast<int>(b->args.size()) / b->rows;
  if (inner != b->rows || a->rows * columns * inner > 512) return nullptr;
  std::vector<Tree> entries;
  for (int r = 0; r < a->rows; ++r)
    for (int c = 0; c < columns; ++c) {
      std::vector<Tree> terms;
      for (int k = 0; k < inner; ++k)
        terms.push_back(make(Kind::Mul, {a->args[static_cast<std::size_t>(r * inner + k)],
                                         b->args[static_cast<std::size_t>(k * columns + c)]}));
      entries.push_back(make(Kind::Add, std::move(terms)));
    }
  return make_matrix(std::move(entries), a->rows);
}

Tree matrix_sum(const Tree& a, const Tree& b) {
  if (a->rows != b->rows || a->args.size() != b->args.size()) return nullptr;
  std::vector<Tree> entries;
  for (std::size_t i = 0; i < a->args.size(); ++i)
    entries.push_back(make(Kind::Add, {a->args[i], b->args[i]}));
  return make_matrix(std::move(entries), a->rows);
}

}  // namespace

Tree fold_matrices(const Tree& tree) {
  if (!contains(tree, Kind::Matrix) || (tree->kind != Kind::Add && tree->kind != Kind::Mul))
    return tree;
  Tree result;
  for (const Tree& arg : tree->args) {
    const Tree part = fold_matrices(arg);
    const bool matrix = part->kind == Kind::Matrix;
    if (!result) {
      result = part;
    } else if (tree->kind == Kind::Add) {
      result = matrix && result->kind == Kind::Matrix ? matrix_sum(result, part) : nullptr;
    } else if (matrix && result->kind == Kind::Matrix) {
      result = matrix_product(result, part);
    } else if (matrix || result->kind == Kind::Matrix) {
      result = matrix ? entrywise(part, result) : entrywise(result, part);
    } else {
      result = make(Kind::Mul, {result, part});
    }
    if (!result) return tree;
  }
  return result;
}

}  // namespace counterbeam::grade
