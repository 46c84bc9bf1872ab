// Evaluation of expressions.
#include <fmt/format.h>

#include "text/jinja/depth.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operations.h"

namespace counterbeam::jinja {

Value Interpreter::evaluate(const Expr& expr, const ScopePtr& scope) {
  if (expr.kind == ExprKind::Const) return expr.constant;
  const Depth depth(*this);
  budget_.step();
  line_ = expr.line;
  switch (expr.kind) {
    case ExprKind::Name:
      return evaluate_name(expr, scope.get());
    case ExprKind::List:
      return heap_.list(evaluate_all(expr.items, scope));
    case ExprKind::Tuple:
      return heap_.tuple(evaluate_all(expr.items, scope));
    case ExprKind::Dict:
      return evaluate_dict(expr, scope);
    case ExprKind::Attribute:
      return attribute(evaluate(*expr.items[0], scope), expr.text);
    case ExprKind::Subscript: {
      const Value object = evaluate(*expr.items[0], scope);
      return subscript(object, evaluate(*expr.items[1], scope));
    }
    case ExprKind::Slice: {
      std::vector<Value> bounds = evaluate_all(expr.items, scope);
      return heap_.slice(bounds[0], bounds[1], bounds[2]);
    }
    case ExprKind::Call:
      return evaluate_call(expr, scope);
    case ExprKind::Filter:
      return evaluate_filter(expr, evaluate(*expr.items[0], scope), scope);
    case ExprKind::Test:
      return evaluate_test(expr, scope);
    case ExprKind::Concat:
      return evaluate_concat(expr, scope);
    case ExprKind::Compare:
      return evaluate_compare(expr, scope);
    case ExprKind::And: {
      Value left = evaluate(*expr.items[0], scope);
      return truth(left) ? evaluate(*expr.items[1], scope) : left;
    }
    case ExprKind::Or: {
      Value left = evaluate(*expr.items[0], scope);
      return truth(left) ? left : evaluate(*expr.items[1], scope);
    }
    case ExprKind::Not:
      return Value(!truth(evaluate(*expr.items[0], scope)));
    case ExprKind::Negate:
      return negate(evaluate(*expr.items[0], scope));
    case ExprKind::Plus: {
      const Value value = evaluate(*expr.items[0], scope);
      if (value.is_integral()) return Value(value.integer());
      if (!value.is(Kind::Float)) negate(value);  // throws the error for a bad operand
      return value;
    }
    case ExprKind::Binary: {
      const Value left = evaluate(*expr.items[0], scope);
      const Value right = evaluate(*expr.items[1], scope);
      line_ = expr.line;
      return binary(heap_, expr.ops[0], left, right);
    }
    case ExprKind::Conditional:
      if (truth(evaluate(*expr.items[0], scope))) return evaluate(*expr.items[1], scope);
      if (expr.items[2]) return evaluate(*expr.items[2], scope);
      return heap_.undefined_hint(
          "the inline if-expression evaluated to false and no else section was defined.");
    default:
      break;
  }
  throw Fault("this expression has no value");
}

std::vector<Value> Interpreter::evaluate_all(const std::vector<ExprPtr>& exprs,
                                             const ScopePtr& scope) {
  std::vector<Value> values;
  values.reserve(exprs.size());
  for (const ExprPtr& expr : exprs) values.push_back(expr ? evaluate(*expr, scope) : Value::none());
  return values;
}

Value Interpreter::evaluate_name(const Expr& expr, const Scope* scope) {
  for (; scope; scope = scope->parent.get())
    for (const auto& [id, value] : scope->values)
      if (id == expr.name) return value;
  if (expr.builtin) {
    auto function = std::make_unique<FunctionObject>();
    heap_.admit(*function, sizeof(FunctionObject), 1);
    function->builtin = expr.builtin;
    return Value(Kind::Function, function.release());
  }
  return heap_.undefined_name(program_.names[expr.name]);
}

Value Interpreter::evaluate_dict(const Expr& expr, const ScopePtr& scope) {
  const Value dict = heap_.dict();
  for (std::size_t i = 0; i < expr.items.size(); i += 2) {
    Value key = evaluate(*expr.items[i], scope);
    heap_.put(dict.as<DictObject>(), std::move(key), evaluate(*expr.items[i + 1], scope));
  }
  heap_.settle(dict.as<DictObject>());
  return dict;
}

Value Interpreter::evaluate_concat(const Expr& expr, const ScopePtr& scope) {
  Text out;
  for (const ExprPtr& item : expr.items) append_text(heap_, out, evaluate(*item, scope));
  return heap_.text(std::move(out));
}

Value Interpreter::evaluate_compare(const Expr& expr, const ScopePtr& scope) {
  Value left = evaluate(*expr.items[0], scope);
  for (std::size_t i = 0; i < expr.ops.size(); ++i) {
    Value right = evaluate(*expr.items[i + 1], scope);
    line_ = expr.line;
    if (!compare(heap_, expr.ops[i], left, right)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Args Interpreter::evaluate_args(const Expr& expr, std::size_t skip, const ScopePtr& scope) {
  Args args;
  for (std::size_t i = skip; i < expr.items.size(); ++i)
    args.positional.push_back(evaluate(*expr.items[i], scope));
  if (expr.star)
    for (const Value& item : items(heap_, evaluate(*expr.star, scope)))
      args.positional.push_back(item);
  for (const Keyword& keyword : expr.keywords)
    args.named.emplace_back(Text(keyword.name), evaluate(*keyword.value, scope));
  if (expr.star_star) {
    const Value dict = evaluate(*expr.star_star, scope);
    if (!dict.is(Kind::Dict)) throw Fault("argument after ** must be a mapping");
    for (const auto& [key, value] : dict.as<DictObject>().items) {
      if (!key.is(Kind::Str)) throw Fault("keywords must be strings");
      for (const auto& [name, old] : args.named)
        if (name.view() == text_of(key).view())
          throw Fault(fmt::format("got multiple values for keyword argument '{}'", name.view()));
      args.named.emplace_back(text_of(key), value);
    }
  }
  return args;
}

Value Interpreter::evaluate_call(const Expr& expr, const ScopePtr& scope) {
  const Value function = evaluate(*expr.items[0], scope);
  Args args = evaluate_args(expr, 1, scope);
  line_ = expr.line;
  return call(function, std::move(args));
}

Value Interpreter::evaluate_filter(const Expr& expr, Value subject, const ScopePtr& scope) {
  if (!expr.builtin) throw Fault(fmt::format("No filter named '{}' found.", expr.text));
  Args args = evaluate_args(expr, 1, scope);
  args.positional.insert(args.positional.begin(), std::move(subject));
  line_ = expr.line;
  return call_builtin(*this, *expr.builtin, Value(), std::move(args));
}

Value Interpreter::apply_chain(const Expr& filter, Value text, const ScopePtr& scope) {
  if (filter.items[0]) text = apply_chain(*filter.items[0], std::move(text), scope);
  return evaluate_filter(filter, std::move(text), scope);
}

Value Interpreter::evaluate_test(const Expr& expr, const ScopePtr& scope) {
  if (!expr.builtin) throw Fault(fmt::format("No test named '{}' found.", expr.text));
  Args args = evaluate_args(expr, 0, scope);
  line_ = expr.line;
  return call_builtin(*this, *expr.builtin, Value(), std::move(args));
}

Value Interpreter::call(const Value& function, Args args) {
  const Depth depth(*this);
  switch (function.kind()) {
    case Kind::Macro:
      return call_macro(function.as<MacroObject>(), std::move(args));
    case Kind::Function: {
      const auto& object = function.as<FunctionObject>();
      return call_builtin(*this, *object.builtin, object.self, std::move(args));
    }
    case Kind::Loop:
      if (args.positional.size() != 1 || !args.named.empty())
        throw Fault("loop() takes the items to go on with");
      return recurse(function.as<LoopObject>(), args.positional[0]);
    case Kind::Joiner: {
      auto& joiner = function.as<JoinerObject>();
      if (std::exchange(joiner.used, true)) return joiner.separator;
      return heap_.text("");
    }
    case Kind::Undefined:
      throw Fault(undefined_message(function.as<UndefinedObject>()));
    default:
      throw Fault(fmt::format("'{}' object is not callable", type_name(function)));
  }
}

Value Interpreter::call_filter(const Value& name, Value subject, Args args) {
  const Builtin* filter = name.is(Kind::Str) ? find_filter(text_of(name).view()) : nullptr;
  if (!filter) throw Fault(fmt::format("No filter named {}.", repr(heap_, name).view()));
  args.positional.insert(args.positional.begin(), std::move(subject));
  return call_builtin(*this, *filter, Value(), std::move(args));
}

bool Interpreter::call_test(const Value& name, Value subject, Args args) {
  const Builtin* test = name.is(Kind::Str) ? find_test(text_of(name).view()) : nullptr;
  if (!test) throw Fault(fmt::format("No test named {}.", repr(heap_, name).view()));
  args.positional.insert(args.positional.begin(), std::move(subject));
  return truth(call_builtin(*this, *test, Value(), std::move(args)));
}

}  // namespace counterbeam::jinja
