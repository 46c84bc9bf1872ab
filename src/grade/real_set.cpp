#include "grade/real_set.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "grade/equality.h"
#include "grade/evaluate.h"
#include "grade/normal_form.h"

namespace counterbeam::grade {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMaxPieces = 64;

std::optional<double> place(const Tree& tree, Budget& budget) {
  if (tree->kind == Kind::Symbol && tree->name == "infty") return kInfinity;
  if (tree->kind == Kind::Mul && tree->args.size() == 2 && is_number(tree->args[0], -1) &&
      tree->args[1]->kind == Kind::Symbol && tree->args[1]->name == "infty")
    return -kInfinity;
  return approximate(tree, budget);
}

Piece everything() {
  const Tree up = make_symbol("infty");
  return {negated(up), up, -kInfinity, kInfinity, false, false};
}

std::optional<Piece> interval(const Tree& tuple, Budget& budget) {
  if (tuple->args.size() != 2) return std::nullopt;
  const auto low = place(tuple->args[0], budget), high = place(tuple->args[1], budget);
  if (!low || !high || *low > *high) return std::nullopt;
  const bool low_in = tuple->name[0] == '[' && std::isfinite(*low);
  const bool high_in = tuple->name[1] == ']' && std::isfinite(*high);
  return Piece{tuple->args[0], tuple->args[1], *low, *high, low_in, high_in};
}

RealSet sorted(RealSet set) {
  std::sort(set.begin(), set.end(), [](const Piece& a, const Piece& b) {
    return a.low_at != b.low_at ? a.low_at < b.low_at : a.low_in > b.low_in;
  });
  RealSet out;
  for (const Piece& p : set) {
    const bool touches =
        !out.empty() && (p.low_at < out.back().high_at ||
                         (p.low_at == out.back().high_at && (p.low_in || out.back().high_in)));
    if (!touches) {
      out.push_back(p);
    } else if (p.high_at > out.back().high_at) {
      out.back().high = p.high, out.back().high_at = p.high_at, out.back().high_in = p.high_in;
    } else if (p.high_at == out.back().high_at) {
      out.back().high_in |= p.high_in;
    }
  }
  return out;
}

RealSet intersection(const RealSet& a, const RealSet& b) {
  RealSet out;
  for (const Piece& p : a)
    for (const Piece& q : b) {
      Piece r = p;
      if (q.low_at > p.low_at)
        r.low = q.low, r.low_at = q.low_at, r.low_in = q.low_in;
      else if (q.low_at == p.low_at)
        r.low_in = p.low_in && q.low_in;
      if (q.high_at < p.high_at)
        r.high = q.high, r.high_at = q.high_at, r.high_in = q.high_in;
      else if (q.high_at == p.high_at)
        r.high_in = p.high_in && q.high_in;
      if (r.low_at < r.high_at || (r.low_at == r.high_at && r.low_in && r.high_in))
        out.push_back(r);
    }
  return sorted(out);
}

RealSet complement(const RealSet& set) {
  RealSet out;
  Piece gap = everything();
  for (const Piece& p : set) {
    gap.high = p.low, gap.high_at = p.low_at, gap.high_in = !p.low_in && std::isfinite(p.low_at);
    if (gap.low_at < gap.high_at || (gap.low_at == gap.high_at && gap.low_in && gap.high_in))
      out.push_back(gap);
    gap = everything();
    gap.low = p.high, gap.low_at = p.high_at, gap.low_in = !p.high_in && std::isfinite(p.high_at);
  }
  if (gap.low_at < kInfinity) out.push_back(gap);
  return out;
}

// The unknown of an inequality: a symbol, or an application such as f(x).
bool is_unknown(const Tree& tree) {
  return (tree->kind == Kind::Symbol && !is_constant_name(tree->name)) ||
         (tree->kind == Kind::Call && tree->args.size() == 1 && tree->name.size() == 1);
}

std::optional<RealSet> ray(char op, const Tree& bound, Budget& budget) {
  const auto at = place(bound, budget);
  if (!at) return std::nullopt;
  Piece p = everything();
  if (op == '<' || op == 'l') {
    p.high = bound, p.high_at = *at, p.high_in = op == 'l' && std::isfinite(*at);
  } else if (op == '>' || op == 'g') {
    p.low = bound, p.low_at = *at, p.low_in = op == 'g' && std::isfinite(*at);
  } else {
    const RealSet point{{bound, bound, *at, *at, true, true}};
    return op == '=' ? point : complement(point);
  }
  return RealSet{p};
}

char flipped(char op) {
  switch (op) {
    case '<':
      return '>';
    case '>':
      return '<';
    case 'l':
      return 'g';
    case 'g':
      return 'l';
    default:
      return op;
  }
}

// Solves a op b for one unknown that is isolated or linear.
std::optional<RealSet> solve(const Tree& a, char op, const Tree& b, Budget& budget) {
  if (is_unknown(a) && free_symbols(b).empty()) return ray(op, b, budget);
  if (is_unknown(b) && free_symbols(a).empty()) return ray(flipped(op), a, budget);
  const Tree rest = difference(a, b);
  const auto symbols = free_symbols(rest);
  if (symbols.size() != 1) return std::nullopt;
  NormalForms forms(budget);
  const auto form = forms.form(rest);
  const auto line = form ? forms.linear(*form, symbols[0]) : std::nullopt;
  if (!line || line->first == 0) return std::nullopt;
  const Tree bound = make_number(-line->second / line->first);
  return ray(line->first > 0 ? op : flipped(op), bound, budget);
}

std::optional<RealSet> chain(const Tree& tree, Budget& budget) {
  std::optional<RealSet> all;
  for (std::size_t i = 0; i < tree->name.size(); ++i) {
    const char op = tree->name[i];
    if (op == '~') return std::nullopt;
    const auto part = op == 'e' ? real_set(tree->args[i + 1], budget)
                                : solve(tree->args[i], op, tree->args[i + 1], budget);
    if (!part) return std::nullopt;
    all = all ? intersection(*all, *part) : *part;
  }
  return all;
}

std::optional<RealSet> listed(const Tree& tree, Budget& budget) {
  if (!std::any_of(tree->args.begin(), tree->args.end(), is_set_like)) return std::nullopt;
  RealSet either, both{everything()};
  for (const Tree& arg : tree->args) {
    const auto part = real_set(arg, budget);
    if (!part) return std::nullopt;
    either.insert(either.end(), part->begin(), part->end());
    both = intersection(both, *part);
  }
  // "x < 1 and x > 3" means a union; "x > 1, x < 3" means one interval.
  if (tree->name == "or" || both.empty()) return sorted(either);
  return both;
}

}  // namespace

std::optional<RealSet> real_set(const Tree& tree, Budget& budget) {
  budget.spend(1);
  switch (tree->kind) {
    case Kind::Reals:
      return RealSet{everything()};
    case Kind::Tuple: {
      const auto p = interval(tree, budget);
      return p ? std::optional(RealSet{*p}) : std::nullopt;
    }
    case Kind::Set: {
      RealSet points;
      if (tree->args.size() > kMaxPieces) return std::nullopt;
      for (const Tree& arg : tree->args) {
        const auto at = place(arg, budget);
        if (!at || !std::isfinite(*at)) return std::nullopt;
        points.push_back({arg, arg, *at, *at, true, true});
      }
      return sorted(points);
    }
    case Kind::Union:
    case Kind::Intersection:
    case Kind::Difference: {
      const auto a = real_set(tree->args[0], budget), b = real_set(tree->args[1], budget);
      if (!a || !b || a->size() > kMaxPieces || b->size() > kMaxPieces) return std::nullopt;
      if (tree->kind == Kind::Intersection) return intersection(*a, *b);
      if (tree->kind == Kind::Difference) return intersection(*a, complement(*b));
      RealSet all = *a;
      all.insert(all.end(), b->begin(), b->end());
      return sorted(all);
    }
    case Kind::Relation:
      return chain(tree, budget);
    case Kind::List:
      return listed(tree, budget);
    default:
      return std::nullopt;
  }
}

bool same_set(const RealSet& a, const RealSet& b, Budget& budget) {
  const auto same_end = [&](const Tree& x, double at, const Tree& y, double other) {
    if (!std::isfinite(at) || !std::isfinite(other)) return at == other;
    return same_value(x, y, budget);
  };
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].low_in != b[i].low_in || a[i].high_in != b[i].high_in ||
        !same_end(a[i].low, a[i].low_at, b[i].low, b[i].low_at) ||
        !same_end(a[i].high, a[i].high_at, b[i].high, b[i].high_at))
      return false;
  return true;
}

namespace {

// Whether the relation holds at a rational point; empty if a side has no real value.
std::optional<bool> holds(const Tree& relation, const std::string& symbol, const Rational& point,
                          Budget& budget) {
  Evaluator at(160, {}, budget);
  at.set(symbol, point);
  for (std::size_t i = 0; i < relation->name.size(); ++i) {
    const auto a = at.value(relation->args[i]), b = at.value(relation->args[i + 1]);
    if (!a || !b || a->im != 0 || b->im != 0) return std::nullopt;
    const Real d = a->re - b->re;
    const char op = relation->name[i];
    const bool equal = exponent_of(d) < -130;
    const bool truth = op == '<'   ? d < 0 && !equal
                       : op == 'l' ? d < 0 || equal
                       : op == '>' ? d > 0 && !equal
                       : op == 'g' ? d > 0 || equal
                       : op == '=' ? equal
                       : op == 'n' ? !equal
                                   : false;
    if (!truth) return false;
  }
  return true;
}

}  // namespace

bool describes(const Tree& relation, const RealSet& set, Budget& budget) {
  if (relation->kind != Kind::Relation || relation->name.find_first_of("~e") != std::string::npos)
    return false;
  const auto symbols = free_symbols(relation);
  if (symbols.size() != 1 || set.empty() || set.size() > 8) return false;
  const auto inside = [&](const Rational& x, int side, const Tree& end) {
    for (const Piece& p : set) {
      const double at = x.get_d();
      const bool on_low = end && p.low == end, on_high = end && p.high == end;
      if (on_low && on_high) return side == 0;
      if (on_low) {
        if (side == 0 ? p.low_in : side > 0) return true;
        continue;
      }
      if (on_high) {
        if (side == 0 ? p.high_in : side < 0) return true;
        continue;
      }
      if (at > p.low_at && at < p.high_at) return true;
    }
    return false;
  };
  const Rational near(1, Integer("1267650600228229401496703205376"));  // 2^-100
  int tried = 0;
  for (const Piece& p : set)
    for (const Tree& end : {p.low, p.high}) {
      if (!std::isfinite(end == p.low ? p.low_at : p.high_at)) continue;
      if (end->kind != Kind::Number) return false;
      for (const int side : {-1, 0, 1}) {
        const Rational x = end->number + side * near;
        if (holds(relation, symbols[0], x, budget).value_or(false) != inside(x, side, end))
          return false;
        ++tried;
      }
    }
  for (int i = -40; i <= 40; ++i) {
    const Rational x = ratio(i * i * i * 7 + i * 13, 97);
    if (holds(relation, symbols[0], x, budget).value_or(false) != inside(x, 0, nullptr))
      return false;
  }
  return tried > 0;
}

bool is_set_like(const Tree& tree) {
  switch (tree->kind) {
    case Kind::Reals:
    case Kind::Union:
    case Kind::Intersection:
    case Kind::Difference:
      return true;
    case Kind::Relation:
      return tree->name.find_first_of("<>lgne") != std::string::npos;
    case Kind::Tuple:
      return tree->name == "(]" || tree->name == "[)" ||
             (tree->args.size() == 2 &&
              (mentions(tree->args[0], "infty") || mentions(tree->args[1], "infty")));
    default:
      return false;
  }
}

}  // namespace counterbeam::grade
