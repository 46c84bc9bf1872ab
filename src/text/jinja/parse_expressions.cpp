#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "text/jinja/builtin.h"
#include "text/jinja/nesting.h"
#include "text/jinja/parser.h"

namespace counterbeam::jinja {
namespace {

constexpr int kMaxHeight = 300;

const Heap kConstants(nullptr);

Op compare_op(const Token& token, bool& found) {
  static constexpr std::pair<std::string_view, Op> kOps[] = {
      {"==", Op::Equal},     {"!=", Op::NotEqual}, {"<", Op::Less},
      {"<=", Op::LessEqual}, {">", Op::Greater},   {">=", Op::GreaterEqual}};
  found = false;
  if (!token.is(TokenKind::Operator)) return Op::Equal;
  for (const auto& [text, op] : kOps) {
    if (token.text != text) continue;
    found = true;
    return op;
  }
  return Op::Equal;
}

bool is_literal_start(const Token& token) {
  return token.is(TokenKind::Name) || token.is(TokenKind::String) || token.is(TokenKind::Integer) ||
         token.is(TokenKind::Float) || token.is_operator("[") || token.is_operator("{");
}

}  // namespace

ExprPtr Parser::make(ExprKind kind, int line) const {
  auto node = std::make_unique<Expr>();
  node->kind = kind;
  node->line = line;
  return node;
}

ExprPtr Parser::finish(ExprPtr node) const {
  int height = 0;
  const auto reach = [&](const ExprPtr& child) {
    if (child) height = std::max(height, child->height);
  };
  for (const ExprPtr& item : node->items) reach(item);
  for (const Keyword& keyword : node->keywords) reach(keyword.value);
  reach(node->star);
  reach(node->star_star);
  node->height = height + 1;
  if (node->height > kMaxHeight)
    fail(fmt::format("an expression nests deeper than {} levels", kMaxHeight), node->line);
  return node;
}

ExprPtr Parser::make_binary(Op op, ExprPtr left, ExprPtr right, int line) {
  ExprPtr node = make(ExprKind::Binary, line);
  node->ops.push_back(op);
  node->items.push_back(std::move(left));
  node->items.push_back(std::move(right));
  return finish(std::move(node));
}

bool Parser::at_tuple_end(std::string_view end) const {
  return current().is(TokenKind::VariableEnd) || current().is(TokenKind::BlockEnd) ||
         current().is_operator(")") || (!end.empty() && current().is_name(end));
}

ExprPtr Parser::parse_items(std::string_view end, bool may_be_empty,
                            const std::function<ExprPtr()>& parse_item) {
  const int line = current().line;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) expect_operator(",");
    if (at_tuple_end(end)) break;
    items.push_back(parse_item());
    if (!current().is_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!items.empty()) return std::move(items[0]);
    if (!may_be_empty) fail(fmt::format("Expected an expression, got '{}'", describe(current())));
  }
  ExprPtr node = make(ExprKind::Tuple, line);
  node->items = std::move(items);
  return finish(std::move(node));
}

ExprPtr Parser::parse_tuple(bool conditional, std::string_view end, bool parens) {
  return parse_items(end, parens, [&] { return parse_expression(conditional); });
}

ExprPtr Parser::parse_expression(bool conditional) {
  const Nesting nesting(*this);
  return conditional ? parse_conditional() : parse_or();
}

ExprPtr Parser::parse_conditional() {
  const int line = current().line;
  const std::size_t known = unknown_.size();
  ExprPtr node = parse_or();
  while (skip_name("if")) {
    ExprPtr choice = make(ExprKind::Conditional, line);
    choice->items.push_back(parse_or());
    choice->items.push_back(std::move(node));
    choice->items.push_back(skip_name("else") ? parse_expression() : nullptr);
    node = finish(std::move(choice));
    // An unknown filter inside a conditional is an error only if it is evaluated.
    unknown_.resize(known);
  }
  return node;
}

ExprPtr Parser::parse_or() {
  ExprPtr left = parse_and();
  while (current().is_name("or")) {
    ExprPtr node = make(ExprKind::Or, next().line);
    node->items.push_back(std::move(left));
    node->items.push_back(parse_and());
    left = finish(std::move(node));
  }
  return left;
}

ExprPtr Parser::parse_and() {
  ExprPtr left = parse_not();
  while (current().is_name("and")) {
    ExprPtr node = make(ExprKind::And, next().line);
    node->items.push_back(std::move(left));
    node->items.push_back(parse_not());
    left = finish(std::move(node));
  }
  return left;
}

ExprPtr Parser::parse_not() {
  if (!current().is_name("not")) return parse_compare();
  const Nesting nesting(*this);
  ExprPtr node = make(ExprKind::Not, next().line);
  node->items.push_back(parse_not());
  return finish(std::move(node));
}

ExprPtr Parser::parse_compare() {
  ExprPtr node = make(ExprKind::Compare, current().line);
  node->items.push_back(parse_sum());
  while (true) {
    bool found = false;
    Op op = compare_op(current(), found);
    if (found) {
      next();
    } else if (skip_name("in")) {
      op = Op::In;
    } else if (current().is_name("not") && look().is_name("in")) {
      next();
      next();
      op = Op::NotIn;
    } else {
      break;
    }
    node->ops.push_back(op);
    node->items.push_back(parse_sum());
  }
  return node->ops.empty() ? std::move(node->items[0]) : finish(std::move(node));
}

ExprPtr Parser::parse_sum() {
  ExprPtr left = parse_concat();
  while (current().is_operator("+") || current().is_operator("-")) {
    const Token token = next();
    left = make_binary(token.text == "+" ? Op::Add : Op::Subtract, std::move(left), parse_concat(),
                       token.line);
  }
  return left;
}

ExprPtr Parser::parse_concat() {
  ExprPtr first = parse_product();
  if (!current().is_operator("~")) return first;
  ExprPtr node = make(ExprKind::Concat, current().line);
  node->items.push_back(std::move(first));
  while (skip_operator("~")) node->items.push_back(parse_product());
  return finish(std::move(node));
}

ExprPtr Parser::parse_product() {
  ExprPtr left = parse_power();
  while (true) {
    Op op;
    if (current().is_operator("*"))
      op = Op::Multiply;
    else if (current().is_operator("/"))
      op = Op::Divide;
    else if (current().is_operator("//"))
      op = Op::FloorDivide;
    else if (current().is_operator("%"))
      op = Op::Modulo;
    else
      return left;
    const int line = next().line;
    left = make_binary(op, std::move(left), parse_power(), line);
  }
}

ExprPtr Parser::parse_power() {
  ExprPtr left = parse_unary();
  while (current().is_operator("**")) {
    const int line = next().line;
    left = make_binary(Op::Power, std::move(left), parse_unary(), line);
  }
  return left;
}

ExprPtr Parser::parse_unary(bool with_filter) {
  ExprPtr node;
  if (current().is_operator("-") || current().is_operator("+")) {
    const Nesting nesting(*this);
    const Token sign = next();
    node = make(sign.text == "-" ? ExprKind::Negate : ExprKind::Plus, sign.line);
    node->items.push_back(parse_unary(false));
    node = finish(std::move(node));
  } else {
    node = parse_primary();
  }
  node = parse_postfix(std::move(node));
  return with_filter ? parse_filter_chain(std::move(node)) : std::move(node);
}

ExprPtr Parser::parse_primary(bool with_namespace) {
  const Token& token = current();
  if (token.is(TokenKind::Name)) return parse_name(with_namespace);
  ExprPtr node = make(ExprKind::Const, token.line);
  if (token.is(TokenKind::String)) {
    std::string text;
    while (current().is(TokenKind::String)) text += next().text;
    node->constant = kConstants.text(text);
  } else if (token.is(TokenKind::Integer)) {
    node->constant = Value(next().integer);
  } else if (token.is(TokenKind::Float)) {
    node->constant = Value(next().real);
  } else if (skip_operator("(")) {
    const Nesting nesting(*this);
    node = parse_tuple(true, {}, true);
    expect_operator(")");
  } else if (token.is_operator("[")) {
    return parse_list();
  } else if (token.is_operator("{")) {
    return parse_dict();
  } else {
    fail(fmt::format("unexpected '{}'", describe(token)));
  }
  return node;
}

ExprPtr Parser::parse_name(bool with_namespace) {
  const Token token = next();
  ExprPtr node = make(ExprKind::Const, token.line);
  if (token.text == "true" || token.text == "True") {
    node->constant = Value(true);
  } else if (token.text == "false" || token.text == "False") {
    node->constant = Value(false);
  } else if (token.text == "none" || token.text == "None") {
    node->constant = Value::none();
  } else {
    node->kind = ExprKind::Name;
    node->name = name_id(token.text);
    node->builtin = find_global(token.text);
    node->text = token.text;
    if (with_namespace && skip_operator(".")) {
      node->kind = ExprKind::NamespaceTarget;
      node->text = expect_name();
    } else {
      note_use(token.text);
    }
  }
  return node;
}

ExprPtr Parser::parse_list() {
  ExprPtr node = make(ExprKind::List, next().line);
  while (!current().is_operator("]")) {
    if (!node->items.empty()) expect_operator(",");
    if (current().is_operator("]")) break;
    node->items.push_back(parse_expression());
  }
  expect_operator("]");
  return finish(std::move(node));
}

ExprPtr Parser::parse_dict() {
  ExprPtr node = make(ExprKind::Dict, next().line);
  while (!current().is_operator("}")) {
    if (!node->items.empty()) expect_operator(",");
    if (current().is_operator("}")) break;
    node->items.push_back(parse_expression());
    expect_operator(":");
    node->items.push_back(parse_expression());
  }
  expect_operator("}");
  return finish(std::move(node));
}

ExprPtr Parser::parse_postfix(ExprPtr node) {
  while (true) {
    if (current().is_operator(".") || current().is_operator("["))
      node = parse_subscript(std::move(node));
    else if (current().is_operator("("))
      node = parse_call(std::move(node));
    else
      return node;
  }
}

ExprPtr Parser::parse_filter_chain(ExprPtr node) {
  while (true) {
    if (current().is_operator("|"))
      node = parse_filters(std::move(node), false);
    else if (current().is_name("is"))
      node = parse_test(std::move(node));
    else if (current().is_operator("("))
      node = parse_call(std::move(node));
    else
      return node;
  }
}

ExprPtr Parser::parse_subscript(ExprPtr object) {
  const Token token = next();
  ExprPtr node = make(ExprKind::Subscript, token.line);
  if (token.text == ".") {
    const Token name = next();
    if (name.is(TokenKind::Name)) {
      node->kind = ExprKind::Attribute;
      node->text = name.text;
      node->items.push_back(std::move(object));
      return finish(std::move(node));
    }
    if (!name.is(TokenKind::Integer)) fail("expected name or number", name.line);
    node->items.push_back(std::move(object));
    node->items.push_back(make(ExprKind::Const, name.line));
    node->items.back()->constant = Value(name.integer);
    return finish(std::move(node));
  }
  std::vector<ExprPtr> keys;
  while (!current().is_operator("]")) {
    if (!keys.empty()) expect_operator(",");
    keys.push_back(parse_subscribed());
  }
  expect_operator("]");
  node->items.push_back(std::move(object));
  if (keys.size() == 1) {
    node->items.push_back(std::move(keys[0]));
  } else {
    ExprPtr tuple = make(ExprKind::Tuple, token.line);
    tuple->items = std::move(keys);
    node->items.push_back(finish(std::move(tuple)));
  }
  return finish(std::move(node));
}

ExprPtr Parser::parse_subscribed() {
  ExprPtr node = make(ExprKind::Slice, current().line);
  if (skip_operator(":")) {
    node->items.push_back(nullptr);
  } else {
    ExprPtr key = parse_expression();
    if (!skip_operator(":")) return key;
    node->items.push_back(std::move(key));
  }
  const auto at_end = [&] { return current().is_operator("]") || current().is_operator(","); };
  node->items.push_back(at_end() || current().is_operator(":") ? nullptr : parse_expression());
  const bool stepped = skip_operator(":");
  node->items.push_back(stepped && !at_end() ? parse_expression() : nullptr);
  return finish(std::move(node));
}

ExprPtr Parser::parse_call(ExprPtr function) {
  ExprPtr node = make(ExprKind::Call, current().line);
  node->items.push_back(std::move(function));
  parse_call_args(*node);
  return finish(std::move(node));
}

void Parser::parse_call_args(Expr& call) {
  const int line = current().line;
  expect_operator("(");
  const auto ensure = [&](bool fine) {
    if (!fine) fail("invalid syntax for function call expression", line);
  };
  bool first = true;
  while (!current().is_operator(")")) {
    if (!first) {
      expect_operator(",");
      if (current().is_operator(")")) break;
    }
    first = false;
    if (skip_operator("*")) {
      ensure(!call.star && !call.star_star);
      call.star = parse_expression();
    } else if (skip_operator("**")) {
      ensure(!call.star_star);
      call.star_star = parse_expression();
    } else if (current().is(TokenKind::Name) && look().is_operator("=")) {
      ensure(!call.star_star);
      std::string name = next().text;
      next();
      for (const Keyword& keyword : call.keywords)
        if (keyword.name == name) fail(fmt::format("keyword argument repeated: {}", name), line);
      call.keywords.push_back({std::move(name), parse_expression()});
    } else {
      ensure(!call.star && !call.star_star && call.keywords.empty());
      call.items.push_back(parse_expression());
    }
  }
  expect_operator(")");
}

std::string Parser::parse_dotted_name() {
  std::string name = expect_name();
  while (skip_operator(".")) name += "." + expect_name();
  return name;
}

ExprPtr Parser::parse_filters(ExprPtr node, bool inline_first) {
  while (inline_first || current().is_operator("|")) {
    if (!inline_first) next();
    inline_first = false;
    ExprPtr filter = make(ExprKind::Filter, current().line);
    filter->text = parse_dotted_name();
    filter->items.push_back(std::move(node));
    filter->builtin = find_filter(filter->text);
    if (!filter->builtin && !soft_)
      unknown_.push_back({fmt::format("No filter named '{}'.", filter->text), filter->line});
    if (current().is_operator("(")) parse_call_args(*filter);
    node = finish(std::move(filter));
  }
  return node;
}

ExprPtr Parser::parse_test(ExprPtr subject) {
  const Token token = next();
  const bool negated = skip_name("not");
  ExprPtr node = make(ExprKind::Test, token.line);
  node->text = parse_dotted_name();
  node->items.push_back(std::move(subject));
  node->builtin = find_test(node->text);
  if (!node->builtin && !soft_)
    unknown_.push_back({fmt::format("No test named '{}'.", node->text), node->line});
  if (current().is_operator("(")) {
    parse_call_args(*node);
  } else if (is_literal_start(current()) && !current().is_name("else") &&
             !current().is_name("or") && !current().is_name("and")) {
    if (current().is_name("is")) fail("You cannot chain multiple tests with is");
    const Nesting nesting(*this);
    node->items.push_back(parse_postfix(parse_primary()));
  }
  node = finish(std::move(node));
  if (!negated) return node;
  ExprPtr inverse = make(ExprKind::Not, token.line);
  inverse->items.push_back(std::move(node));
  return finish(std::move(inverse));
}

}  // namespace counterbeam::jinja
