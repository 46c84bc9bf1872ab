// Python's arithmetic: floor division and modulo follow the divisor's sign, + and * concatenate and
// repeat sequences. Integers have 64 bits; overflow is an error.
#include <fmt/format.h>

#include <cmath>

#include "text/jinja/operations.h"

namespace counterbeam::jinja {
namespace {

constexpr std::string_view symbol(Op op) {
  constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};
  return kSymbols[static_cast<int>(op)];
}

[[noreturn]] void fail_operands(Op op, const Value& a, const Value& b) {
  throw Fault(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", symbol(op),
                          type_name(a), type_name(b)));
}

// `result` is a reference because the builtin that computes `overflowed` writes it, and arguments
// are evaluated in any order.
Value exact(bool overflowed, const std::int64_t& result) {
  if (overflowed) throw Fault("an integer does not fit in 64 bits");
  return Value(result);
}

Value integer_divide(Op op, std::int64_t a, std::int64_t b) {
  if (b == 0)
    throw Fault(op == Op::Modulo ? "integer modulo by zero" : "integer division or modulo by zero");
  if (b == -1) return op == Op::Modulo ? Value(std::int64_t{0}) : negate(Value(a));
  std::int64_t quotient = a / b, rest = a % b;
  if (rest != 0 && (rest < 0) != (b < 0)) {
    --quotient;
    rest += b;
  }
  return Value(op == Op::Modulo ? rest : quotient);
}

Value real_power(double base, double exponent) {
  if (base == 0 && exponent < 0) throw Fault("0.0 cannot be raised to a negative power");
  if (base < 0 && std::trunc(exponent) != exponent)
    throw Fault("a negative number has no real power of a fraction");
  const double result = std::pow(base, exponent);
  if (std::isinf(result) && !std::isinf(base) && !std::isinf(exponent))
    throw Fault("the result of ** is too large");
  return Value(result);
}

Value integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return real_power(static_cast<double>(base), static_cast<double>(exponent));
  std::int64_t result = 1;
  bool overflowed = false;
  while (exponent > 0) {
    if (exponent & 1) overflowed |= __builtin_mul_overflow(result, base, &result);
    exponent >>= 1;
    if (exponent > 0) overflowed |= __builtin_mul_overflow(base, base, &base);
    if (overflowed) break;
  }
  return exact(overflowed, result);
}

Value integers(Op op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (op) {
    case Op::Add:
      return exact(__builtin_add_overflow(a, b, &result), result);
    case Op::Subtract:
      return exact(__builtin_sub_overflow(a, b, &result), result);
    case Op::Multiply:
      return exact(__builtin_mul_overflow(a, b, &result), result);
    case Op::Divide:
      if (b == 0) throw Fault("division by zero");
      return Value(static_cast<double>(a) / static_cast<double>(b));
    case Op::Power:
      return integer_power(a, b);
    default:
      return integer_divide(op, a, b);
  }
}

double real_modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  return rest == 0 ? std::copysign(0.0, b) : rest;
}

Value reals(Op op, double a, double b) {
  switch (op) {
    case Op::Add:
      return Value(a + b);
    case Op::Subtract:
      return Value(a - b);
    case Op::Multiply:
      return Value(a * b);
    case Op::Power:
      return real_power(a, b);
    default:
      break;
  }
  if (b == 0)
    throw Fault(op == Op::Divide   ? "float division by zero"
                : op == Op::Modulo ? "float modulo"
                                   : "float floor division by zero");
  if (op == Op::Divide) return Value(a / b);
  const double rest = real_modulo(a, b);
  if (op == Op::Modulo) return Value(rest);
  const double quotient = (a - rest) / b;
  const double floored = std::floor(quotient);
  return Value(quotient - floored > 0.5 ? floored + 1 : floored);
}

Value add(const Heap& heap, const Value& a, const Value& b) {
  if (a.is(Kind::Str) && b.is(Kind::Str)) {
    const bool markup = is_markup(a) || is_markup(b);
    heap.budget()->check_text(text_of(a).size() + text_of(b).size());
    Text out;
    out.reserve(text_of(a).size() + text_of(b).size());
    out.append(markup ? escaped(heap, a) : text_of(a));
    out.append(markup ? escaped(heap, b) : text_of(b));
    return heap.text(std::move(out), markup);
  }
  if (a.kind() == b.kind() && (a.is(Kind::List) || a.is(Kind::Tuple))) {
    std::vector<Value> all = items_of(a);
    heap.budget()->check_items(all.size() + items_of(b).size());
    all.insert(all.end(), items_of(b).begin(), items_of(b).end());
    return a.is(Kind::List) ? heap.list(std::move(all)) : heap.tuple(std::move(all));
  }
  fail_operands(Op::Add, a, b);
}

Value repeat(const Heap& heap, const Value& what, std::int64_t times) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(times, 0));
  if (what.is(Kind::Str)) {
    const Text& text = text_of(what);
    if (text.size() > 0 && count > heap.budget()->limits().output_bytes / text.size())
      throw Fault(
          fmt::format("a string of {} bytes repeated {} times is too large", text.size(), times));
    Text out;
    out.reserve(text.size() * count);
    for (std::size_t i = 0; i < count && !text.empty(); ++i) out.append(text);
    return heap.text(std::move(out), is_markup(what));
  }
  const std::vector<Value>& once = items_of(what);
  if (!once.empty()) heap.budget()->check_items(count);
  heap.budget()->check_items(once.size() * (once.empty() ? 0 : count));
  std::vector<Value> all;
  for (std::size_t i = 0; i < count && !once.empty(); ++i)
    all.insert(all.end(), once.begin(), once.end());
  return what.is(Kind::List) ? heap.list(std::move(all)) : heap.tuple(std::move(all));
}

bool is_repeatable(const Value& value) {
  return value.is(Kind::Str) || value.is(Kind::List) || value.is(Kind::Tuple);
}

}  // namespace

Value binary(const Heap& heap, Op op, const Value& a, const Value& b) {
  for (const Value* side : {&a, &b})
    if (side->is(Kind::Undefined) && !(op == Op::Modulo && side == &b && a.is(Kind::Str)))
      throw Fault(undefined_message(side->as<UndefinedObject>()));
  if (a.is_integral() && b.is_integral()) return integers(op, a.integer(), b.integer());
  if (a.is_number() && b.is_number()) return reals(op, a.real(), b.real());
  if (op == Op::Add) return add(heap, a, b);
  if (op == Op::Multiply && is_repeatable(a) && b.is_integral())
    return repeat(heap, a, b.integer());
  if (op == Op::Multiply && is_repeatable(b) && a.is_integral())
    return repeat(heap, b, a.integer());
  if (op == Op::Modulo && a.is(Kind::Str))
    return heap.text(percent_format(heap, a, b), is_markup(a));
  fail_operands(op, a, b);
}

Value negate(const Value& value) {
  if (value.is(Kind::Float)) return Value(-value.real());
  if (value.is(Kind::Undefined)) throw Fault(undefined_message(value.as<UndefinedObject>()));
  if (!value.is_integral())
    throw Fault(fmt::format("bad operand type for unary -: '{}'", type_name(value)));
  std::int64_t result = 0;
  return exact(__builtin_sub_overflow(std::int64_t{0}, value.integer(), &result), result);
}

}  // namespace counterbeam::jinja
