#include "grade/compare.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "grade/equality.h"
#include "grade/lexer.h"
#include "grade/readings.h"
#include "grade/real_set.h"
#include "grade/shape.h"
#include "grade/text_answer.h"
#include "grade/units.h"

namespace counterbeam::grade {
namespace {

constexpr long kSteps = 60000;
constexpr std::size_t kMaxMembers = 100;

class Comparison {
 public:
  explicit Comparison(Budget& budget) : budget_(budget) {}

  bool same(const Tree& gold, const Tree& pred) {
    if (++depth_ > 40) return false;
    const Tree a = fold_matrices(cut_chain(gold)), b = fold_matrices(cut_chain(pred));
    const bool result = canonical(a) == canonical(b) || same_kind(a, b);
    --depth_;
    return result;
  }

 private:
  bool same_kind(const Tree& a, const Tree& b) {
    if (is_measured(a) || is_measured(b)) return same_quantity(a, b);
    if (a->kind == Kind::Based || b->kind == Kind::Based) return same_based(a, b);
    if (is_set_like(a) || is_set_like(b))
      if (same_real_set(a, b)) return true;
    if (is_many(a) || is_many(b)) return same_members(a, b);
    if (a->kind == Kind::Relation || b->kind == Kind::Relation) return same_relation(a, b);
    if (a->kind == Kind::Tuple || b->kind == Kind::Tuple || a->kind == Kind::Matrix ||
        b->kind == Kind::Matrix)
      return same_sequence(a, b);
    if (a->kind == Kind::Ratio || b->kind == Kind::Ratio) return same_ratio(a, b);
    return same_value(a, b, budget_) || long_decimal_of(a, b, budget_) ||
           long_decimal_of(b, a, budget_);
  }

  // Whether the whole answer has a unit, a percent sign or a degree sign.
  static bool is_measured(const Tree& tree) {
    return tree->kind == Kind::Quantity || tree->kind == Kind::Percent ||
           tree->kind == Kind::Degree ||
           (tree->kind == Kind::Mul && tree->args.size() == 2 && is_number(tree->args[0], -1) &&
            is_measured(tree->args[1]));
  }

  struct Measured {
    Tree value;
    Unit unit;
    bool percent = false;
  };

  static Measured measure(const Tree& tree) {
    if (tree->kind == Kind::Mul && is_measured(tree)) {
      Measured m = measure(tree->args[1]);
      m.value = negated(m.value);
      return m;
    }
    if (tree->kind == Kind::Percent) {
      Measured m = measure(tree->args[0]);
      m.percent = true;
      return m;
    }
    if (tree->kind == Kind::Degree) {
      Measured m = measure(tree->args[0]);
      m.unit.dimensions["angle"] = 1;
      return m;
    }
    if (tree->kind == Kind::Quantity) {
      Measured m = measure(tree->args[0]);
      const Unit more = read_unit(tree->name);
      for (const auto& [dimension, power] : more.dimensions) m.unit.dimensions[dimension] += power;
      m.unit.words.insert(more.words.begin(), more.words.end());
      m.unit.scale *= more.scale;
      if (more.times != 1) m.value = scaled(m.value, more.times);
      return m;
    }
    return {tree, {}, false};
  }

  static Tree scaled(const Tree& tree, const Rational& factor) {
    if (factor == 1) return tree;
    return make(Kind::Mul, {make_number(factor), tree});
  }

  // "10 m" and "10 cm": a letter after a number is a unit if the other answer has a unit.
  static Measured with_letter(const Tree& tree, bool other_measured) {
    if (other_measured && tree->kind == Kind::Mul && tree->args.size() == 2 &&
        tree->args[0]->kind == Kind::Number && tree->args[1]->kind == Kind::Symbol &&
        is_unit_letter(tree->args[1]->name))
      return {tree->args[0], read_unit(tree->args[1]->name == "L" ? "l" : tree->args[1]->name),
              false};
    return measure(tree);
  }

  bool same_quantity(const Tree& gold, const Tree& pred) {
    const Measured a = with_letter(gold, is_measured(pred)),
                   b = with_letter(pred, is_measured(gold));
    if (!compatible(a.unit, b.unit)) return false;
    if (a.percent != b.percent) {  // 50% equals 50 and 0.5; 0.5 equals 50% but not 50
      if (!is_bare(a.percent ? b.unit : a.unit)) return false;  // 50% does not equal 50 dollars
      const Tree& with = a.percent ? a.value : b.value;
      const Tree& without = a.percent ? b.value : a.value;
      return same(with, without) || same(scaled(with, ratio(1, 100)), without);
    }
    const bool convert =
        !a.unit.dimensions.empty() && !b.unit.dimensions.empty() && a.unit.scale != b.unit.scale;
    return convert ? same(scaled(a.value, a.unit.scale), scaled(b.value, b.unit.scale))
                   : same(a.value, b.value);
  }

  // 52_8 equals 52, by its digits, and not 42, its value. Two numbers with a base are compared by
  // value.
  bool same_based(const Tree& a, const Tree& b) {
    if (a->kind == Kind::Based && b->kind == Kind::Based) return a->number == b->number;
    const Tree& based = a->kind == Kind::Based ? a : b;
    const Tree& other = a->kind == Kind::Based ? b : a;
    if (const Tree value = named_value(other)) return same(based, value);
    const auto digits = parse_decimal(based->name.substr(0, based->name.find('_')));
    return other->kind == Kind::Number && digits && other->number == *digits;
  }

  bool same_real_set(const Tree& a, const Tree& b) {
    const Tree va = named_value(a) ? named_value(a) : a, vb = named_value(b) ? named_value(b) : b;
    const bool both = is_set_like(va) && is_set_like(vb);
    const auto readable = [](const Tree& t) {
      return is_set_like(t) || t->kind == Kind::Tuple || t->kind == Kind::Set ||
             t->kind == Kind::List;
    };
    if (!readable(va) || !readable(vb)) return false;
    const auto sa = real_set(va, budget_), sb = real_set(vb, budget_);
    if (sa && sb) {
      if (both && !same_unknown(va, vb)) return false;
      return same_set(*sa, *sb, budget_);
    }
    if (sa) return describes(vb, *sa, budget_);
    if (sb) return describes(va, *sb, budget_);
    return false;
  }

  // x > 5 does not equal y > 5; an interval has no unknown and matches either.
  static bool same_unknown(const Tree& a, const Tree& b) {
    const auto x = free_symbols(a), y = free_symbols(b);
    return x.empty() || y.empty() || x == y;
  }

  static bool is_many(const Tree& tree) {
    return tree->kind == Kind::List || tree->kind == Kind::Set || contains(tree, Kind::PlusMinus);
  }

  std::vector<Tree> distinct(const std::vector<Tree>& all) {
    std::vector<Tree> out;
    for (const Tree& tree : all)
      if (std::none_of(out.begin(), out.end(),
                       [&](const Tree& seen) { return canonical(seen) == canonical(tree); }))
        out.push_back(tree);
    return out;
  }

  bool matched(const std::vector<Tree>& a, const std::vector<Tree>& b) {
    if (a.size() != b.size() || a.empty() || a.size() > kMaxMembers) return false;
    std::vector<char> used(b.size(), 0);
    for (const Tree& x : a) {
      bool found = false;
      for (std::size_t i = 0; i < b.size() && !found; ++i) {
        if (used[i] || !same(x, b[i])) continue;
        used[i] = 1;
        found = true;
      }
      if (!found) return false;
    }
    return true;
  }

  // Drops names of values, and turns rows "p=5, q=2" into tuples.
  std::vector<Tree> unnamed(const std::vector<Tree>& all) {
    std::vector<Tree> out;
    for (const Tree& tree : all) {
      const Tree cut = cut_chain(tree);
      const Tree value = named_value(cut);
      if (cut->kind == Kind::List)
        out.push_back(make(Kind::Tuple, unnamed(cut->args), "()"));
      else if (value && value->kind == Kind::List)
        for (const Tree& v : value->args) out.push_back(v);
      else if (value)
        for (const Tree& v : both_signs(value)) out.push_back(v);
      else
        out.push_back(cut);
    }
    return out;
  }

  bool same_members(const Tree& a, const Tree& b) {
    // x = 1 \pm 2, S = {1, 2}: drop the name first.
    if (const Tree value = named_value(a)) return same(value, named_value(b) ? named_value(b) : b);
    if (const Tree value = named_value(b)) return same(a, value);
    if (a->kind == Kind::Set && a->args.empty()) return b->kind == Kind::Set && b->args.empty();
    // A tuple does not equal a list: (1,2) and 1,2.
    for (const auto& [many, other] : {std::pair(a, b), std::pair(b, a)})
      if (other->kind == Kind::Tuple && !is_many(other))
        return many->kind == Kind::List && names_all(many) &&
               same(make(Kind::Tuple, unnamed(many->args), "()"), other);
    const std::vector<Tree> ma = members(a), mb = members(b);
    if (matched(distinct(ma), distinct(mb))) return true;
    const auto conflict = [](const std::vector<Tree>& x, const std::vector<Tree>& y) {
      // If both sides name their values, they are matched by name, not by order.
      const auto named = [](const Tree& t) { return named_value(cut_chain(t)) != nullptr; };
      return std::all_of(x.begin(), x.end(), named) && std::all_of(y.begin(), y.end(), named) &&
             !shared_function(x, y);
    };
    if (conflict(ma, mb)) return false;
    return matched(distinct(unnamed(ma)), distinct(unnamed(mb)));
  }

  static bool names_all(const Tree& list) {
    return std::all_of(list->args.begin(), list->args.end(),
                       [](const Tree& arg) { return named_value(cut_chain(arg)) != nullptr; });
  }

  // W(n) = 1 equals W(x) = 1: the same function with another variable name.
  static bool shared_function(const std::vector<Tree>& x, const std::vector<Tree>& y) {
    const auto head = [](const Tree& t) {
      const Tree name = name_of(cut_chain(t));
      return name->kind == Kind::Call ? name->name : std::string();
    };
    const std::string first = head(x[0]);
    const auto same_head = [&](const Tree& t) { return head(t) == first; };
    return !first.empty() && std::all_of(x.begin(), x.end(), same_head) &&
           std::all_of(y.begin(), y.end(), same_head);
  }

  bool same_relation(const Tree& a, const Tree& b) {
    if (a->kind == Kind::Relation && b->kind == Kind::Relation) return same_relations(a, b);
    const Tree& relation = a->kind == Kind::Relation ? a : b;
    const Tree& other = a->kind == Kind::Relation ? b : a;
    const Tree value = named_value(relation);
    if (!value) return false;
    // y = 2x equals 2x; but x = x + 1 does not name a value.
    if (is_name(name_of(relation)) && name_of(relation)->kind == Kind::Symbol &&
        mentions(value, name_of(relation)->name))
      return false;
    return same(value, other);
  }

  static char mirrored(char op) {
    return op == '<' ? '>' : op == '>' ? '<' : op == 'l' ? 'g' : op == 'g' ? 'l' : op;
  }

  bool same_relations(const Tree& a, const Tree& b) {
    if (a->name.size() != 1 || b->name.size() != 1) return same_chain(a, b);
    const Tree va = named_value(a), vb = named_value(b);
    if (va && vb && name_of(a)->kind == name_of(b)->kind) {
      const Tree na = name_of(a), nb = name_of(b);
      const bool same_name = canonical(na) == canonical(nb);
      const bool expression = va->kind != Kind::Tuple && va->kind != Kind::Matrix &&
                              va->kind != Kind::Set && va->kind != Kind::List;
      if (same_name && same(va, vb)) return true;
      if (!same_name && !(na->kind == Kind::Symbol && expression))
        return na->name == nb->name && na->kind != Kind::Symbol && same(va, vb);
    }
    if (a->name == "e" || b->name == "e") return false;
    int sign = 1;
    const Tree da = difference(a->args[0], a->args[1]), db = difference(b->args[0], b->args[1]);
    if (!same_up_to_factor(da, db, budget_, sign)) return false;
    const char op = sign > 0 ? b->name[0] : mirrored(b->name[0]);
    return a->name[0] == op;
  }

  bool same_chain(const Tree& a, const Tree& b) {
    if (a->name.size() != b->name.size()) return false;
    const auto equal = [&](bool reversed) {
      const std::size_t n = a->name.size();
      for (std::size_t i = 0; i < n; ++i)
        if (a->name[i] != (reversed ? mirrored(b->name[n - 1 - i]) : b->name[i])) return false;
      for (std::size_t i = 0; i <= n; ++i)
        if (!same(a->args[i], b->args[reversed ? n - i : i])) return false;
      return true;
    };
    return equal(false) || equal(true);
  }

  bool same_sequence(const Tree& a, const Tree& b) {
    const auto is_vector = [](const Tree& t) {
      return t->kind == Kind::Matrix &&
             (t->rows == 1 || t->args.size() == static_cast<std::size_t>(t->rows));
    };
    if (a->kind == Kind::Tuple && b->kind == Kind::Tuple) {
      if (a->name != b->name) return false;
    } else if (a->kind == Kind::Matrix && b->kind == Kind::Matrix) {
      if (a->rows != b->rows) return false;
    } else if (!((is_vector(a) && b->kind == Kind::Tuple) ||
                 (is_vector(b) && a->kind == Kind::Tuple))) {
      return false;
    }
    if (a->args.size() != b->args.size()) return false;
    for (std::size_t i = 0; i < a->args.size(); ++i)
      if (!same(a->args[i], b->args[i])) return false;
    return true;
  }

  bool same_ratio(const Tree& a, const Tree& b) {
    if (a->kind != b->kind) {  // 1:2 equals 1/2
      const Tree& r = a->kind == Kind::Ratio ? a : b;
      const Tree& other = a->kind == Kind::Ratio ? b : a;
      return r->args.size() == 2 && !is_number(r->args[1], 0) && other->kind == Kind::Number &&
             !is_integer(other->number) && same(quotient(r->args[0], r->args[1]), other);
    }
    if (a->args.size() != b->args.size()) return false;
    bool equal = true;
    for (std::size_t i = 0; i < a->args.size() && equal; ++i) equal = same(a->args[i], b->args[i]);
    if (equal || is_clock(a) || is_clock(b)) return equal;
    for (std::size_t i = 1; i < a->args.size(); ++i)
      if (!same_value(make(Kind::Mul, {a->args[0], b->args[i]}),
                      make(Kind::Mul, {b->args[0], a->args[i]}), budget_))
        return false;
    return true;
  }

  // Not reduced: 4:30 and 12:00 may be times of day, and a ratio with a zero has no value.
  static bool is_clock(const Tree& ratio) {
    const auto clock = [](const Tree& part) {
      return part->kind == Kind::Number &&
             (part->number == 0 || (part->number >= 10 && part->number < 60));
    };
    return clock(ratio->args.back()) || is_number(ratio->args[0], 0);
  }

  Budget& budget_;
  int depth_ = 0;
};

bool is_decimal(const std::optional<Tree>& tree) {
  return tree && (*tree)->kind == Kind::Number && !(*tree)->name.empty();
}

bool same_mathematics(const std::string& gold, const std::string& pred) {
  const Readings a = read(gold), b = read(pred);
  Budget budget(kSteps);
  Comparison comparison(budget);
  const auto same = [&](const std::optional<Tree>& x, const std::optional<Tree>& y) {
    return x && y && comparison.same(*x, *y);
  };
  if (same(a.usual, b.usual)) return true;
  if (is_list(b.usual) && same(a.as_list, b.usual)) return true;
  if (is_list(a.usual) && same(a.usual, b.as_list)) return true;
  if (is_decimal(b.usual) && same(a.decimal_comma, b.usual)) return true;
  return is_decimal(a.usual) && same(a.usual, b.decimal_comma);
}

// Replaces words by the signs they stand for.
std::string by_convention(std::string text) {
  static const std::map<std::string, std::string> kSigns = {
      {"allrealnumbers", "\\mathbb{R}"}, {"allreals", "\\mathbb{R}"},
      {"emptyset", "\\emptyset"},        {"nosolution", "\\emptyset"},
      {"nosolutions", "\\emptyset"},     {"norealsolution", "\\emptyset"},
      {"norealsolutions", "\\emptyset"}, {"doesnotexist", "\\text{DNE}"}};
  const auto sign = kSigns.find(folded_text(text));
  return sign == kSigns.end() ? std::move(text) : sign->second;
}

bool same_words(const std::string& gold, const std::string& pred) {
  if (bare_text(gold) == bare_text(pred)) return !bare_text(gold).empty();
  if (!is_wordy(gold) && !is_wordy(pred)) return false;
  const std::string a = folded_text(gold), b = folded_text(pred);
  if (a.empty() || b.empty()) return false;
  if (a == b) return true;
  // (C) equals C.
  const auto letter = [](const std::string& s) {
    return s.size() == 3 && s[0] == '(' && s[2] == ')' ? s.substr(1, 1) : s;
  };
  return letter(a).size() == 1 && letter(a) == letter(b);
}

}  // namespace

bool same_answer(std::string_view gold, std::string_view pred) {
  const std::string a = by_convention(plain_spelling(gold)),
                    b = by_convention(plain_spelling(pred));
  if (same_words(a, b)) return true;
  try {
    return same_mathematics(a, b);
  } catch (const Error&) {
    return false;  // the budget ran out
  }
}

}  // namespace counterbeam::grade
