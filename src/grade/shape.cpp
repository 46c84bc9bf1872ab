#include "grade/shape.h"

#include <algorithm>

namespace counterbeam::grade {
namespace {

bool is_capital(const Tree& tree) {
  return tree->kind == Kind::Symbol && !tree->name.empty() && tree->name[0] >= 'A' &&
         tree->name[0] <= 'Z';
}

bool is_symbol(const Tree& tree) {
  return tree->kind == Kind::Symbol && !is_constant_name(tree->name);
}

Tree with_signs(const Tree& tree, bool minus) {
  if (!contains(tree, Kind::PlusMinus)) return tree;
  if (tree->kind == Kind::PlusMinus) {
    const Tree inner = with_signs(tree->args[0], minus);
    return minus == (tree->name == "pm") ? negated(inner) : inner;
  }
  std::vector<Tree> args;
  for (const Tree& arg : tree->args) args.push_back(with_signs(arg, minus));
  return std::make_shared<const Node>(
      Node{tree->kind, tree->number, tree->name, std::move(args), tree->rows});
}

}  // namespace

bool is_name(const Tree& tree) {
  const auto all = [&](auto&& test) {
    return std::all_of(tree->args.begin(), tree->args.end(), test);
  };
  switch (tree->kind) {
    case Kind::Symbol:
      return !is_constant_name(tree->name) || tree->name == "e";
    case Kind::Call:  // f(x), |AB|
      return tree->args.size() == 1 &&
             (tree->name == "abs"
                  ? is_name(tree->args[0])
                  : tree->name.size() == 1 || tree->name[1] == '_' || tree->name == "overline");
    case Kind::Ratio:
      return all(is_name);
    case Kind::Tuple:
      return tree->name == "()" && all(is_symbol);
    case Kind::Mul:  // AB, NO/BO
      return all([](const Tree& factor) {
        return is_capital(factor) ||
               (factor->kind == Kind::Pow && is_number(factor->args[1], -1) &&
                is_name(factor->args[0]) && is_capital(factor->args[0])) ||
               (factor->kind == Kind::Pow && is_number(factor->args[1], -1) &&
                factor->args[0]->kind == Kind::Mul && is_name(factor->args[0])) ||
               (factor->kind == Kind::Mul && is_name(factor));
      });
    default:
      return false;
  }
}

Tree cut_chain(const Tree& tree) {
  if (tree->kind != Kind::Relation) return tree;
  std::vector<Tree> args = tree->args;
  std::string codes = tree->name;
  if (const std::size_t rough = codes.find('~'); rough != std::string::npos) {
    if (rough == 0 && is_name(args[0]) && codes.size() == 1) {
      codes[0] = '=';  // x ~ 11 names a value, like x = 11
    } else {
      args.resize(rough + 1);
      codes.resize(rough);
      if (codes.empty()) return args[0];
    }
  }
  const bool sums = codes == "=" && free_symbols(tree).empty();  // 35 + 70 = 105
  if ((codes.size() >= 2 || sums) && codes.find_first_not_of('=') == std::string::npos) {
    if (!is_name(args[0])) return args.back();
    args = {args.front(), args.back()};
    codes = "=";
  }
  return make(Kind::Relation, std::move(args), codes);
}

Tree named_value(const Tree& tree) {
  if (tree->kind != Kind::Relation || (tree->name != "=" && tree->name != "e")) return nullptr;
  if (is_name(tree->args[0])) return tree->args[1];
  return tree->name == "=" && is_name(tree->args[1]) ? tree->args[0] : nullptr;
}

Tree name_of(const Tree& tree) {
  return is_name(tree->args[0]) ? tree->args[0] : tree->args[1];
}

std::vector<Tree> both_signs(const Tree& tree) {
  if (!contains(tree, Kind::PlusMinus)) return {tree};
  return {with_signs(tree, false), with_signs(tree, true)};
}

std::vector<Tree> members(const Tree& tree) {
  if (tree->kind != Kind::List && tree->kind != Kind::Set) return both_signs(tree);
  std::vector<Tree> out;
  for (const Tree& arg : tree->args) {
    const bool nested = arg->kind == Kind::List;
    for (const Tree& part : nested ? std::vector<Tree>{arg} : both_signs(arg)) out.push_back(part);
  }
  return out;
}

}  // namespace counterbeam::grade
