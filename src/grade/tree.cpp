#include "grade/tree.h"

#include <algorithm>
#include <set>

namespace counterbeam::grade {

Tree make(Kind kind, std::vector<Tree> args, std::string name) {
  return std::make_shared<const Node>(Node{kind, 0, std::move(name), std::move(args), 0});
}

Tree make_number(const Rational& value, std::string literal) {
  return std::make_shared<const Node>(Node{Kind::Number, value, std::move(literal), {}, 0});
}

Tree make_symbol(std::string name) {
  return make(Kind::Symbol, {}, std::move(name));
}

Tree make_matrix(std::vector<Tree> entries, int rows) {
  return std::make_shared<const Node>(Node{Kind::Matrix, 0, "", std::move(entries), rows});
}

Tree negated(const Tree& tree) {
  if (tree->kind == Kind::Number)
    return make_number(-tree->number, tree->name.empty() ? "" : "-" + tree->name);
  return make(Kind::Mul, {make_number(-1), tree});
}

Tree difference(const Tree& a, const Tree& b) {
  return make(Kind::Add, {a, negated(b)});
}

Tree quotient(const Tree& a, const Tree& b) {
  if (a->kind == Kind::Number && b->kind == Kind::Number && b->number != 0)
    return make_number(a->number / b->number);
  return make(Kind::Mul, {a, make(Kind::Pow, {b, make_number(-1)})});
}

bool is_number(const Tree& tree, long value) {
  return tree->kind == Kind::Number && tree->number == value;
}

std::string canonical(const Tree& tree) {
  if (tree->kind == Kind::Number) return tree->number.get_str();
  std::vector<std::string> parts;
  for (const Tree& arg : tree->args) parts.push_back(canonical(arg));
  if (tree->kind == Kind::Add || tree->kind == Kind::Mul || tree->kind == Kind::Set ||
      tree->kind == Kind::Union)
    std::sort(parts.begin(), parts.end());
  std::string out = std::to_string(static_cast<int>(tree->kind)) + tree->name;
  if (tree->rows) out += "#" + std::to_string(tree->rows);
  if (tree->kind == Kind::Based) out += tree->number.get_str();
  out += "(";
  for (const std::string& part : parts) out += part + ",";
  return out + ")";
}

bool contains(const Tree& tree, Kind kind) {
  return tree->kind == kind || std::any_of(tree->args.begin(), tree->args.end(),
                                           [&](const Tree& arg) { return contains(arg, kind); });
}

bool mentions(const Tree& tree, const std::string& symbol) {
  return (tree->kind == Kind::Symbol && tree->name == symbol) ||
         std::any_of(tree->args.begin(), tree->args.end(),
                     [&](const Tree& arg) { return mentions(arg, symbol); });
}

std::size_t size_of(const Tree& tree) {
  std::size_t size = 1;
  for (const Tree& arg : tree->args) size += size_of(arg);
  return size;
}

bool is_constant_name(const std::string& name) {
  return name == "pi" || name == "e" || name == "i" || name == "infty";
}

namespace {

void collect(const Tree& tree, std::set<std::string>& names) {
  if (tree->kind == Kind::Symbol && !is_constant_name(tree->name)) names.insert(tree->name);
  for (const Tree& arg : tree->args) collect(arg, names);
}

}  // namespace

std::vector<std::string> free_symbols(const Tree& tree) {
  std::set<std::string> names;
  collect(tree, names);
  return {names.begin(), names.end()};
}

}  // namespace counterbeam::grade
