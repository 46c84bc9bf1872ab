// Jinja's tests, which follow `is`.
#include <fmt/format.h>

#include "text/jinja/builtin.h"
#include "text/jinja/operations.h"

namespace counterbeam::jinja {
namespace {

template <Kind kKind>
Value is_kind(Call& call) {
  return Value(call[0].is(kKind));
}

Value is_defined(Call& call) {
  return Value(!call[0].is(Kind::Undefined));
}

template <bool kWanted>
Value is_bool(Call& call) {
  return Value(call[0].is(Kind::Bool) && call[0].boolean() == kWanted);
}

Value is_number(Call& call) {
  return Value(call[0].is_number());
}

bool divisible(const Call& call, const Value& by) {
  return equal(binary(call.heap, Op::Modulo, call[0], by), Value(std::int64_t{0}), &call.budget);
}

Value is_even(Call& call) {
  return Value(divisible(call, Value(std::int64_t{2})));
}

Value is_odd(Call& call) {
  return Value(equal(binary(call.heap, Op::Modulo, call[0], Value(std::int64_t{2})),
                     Value(std::int64_t{1}), &call.budget));
}

Value is_divisible(Call& call) {
  return Value(divisible(call, call[1]));
}

Value is_sequence(Call& call) {
  return Value(has_length(call[0]) && !call[0].is(Kind::View));
}

Value is_iterable_test(Call& call) {
  return Value(is_iterable(call[0]));
}

Value is_callable(Call& call) {
  const Kind kind = call[0].kind();
  return Value(kind == Kind::Function || kind == Kind::Macro || kind == Kind::Joiner ||
               kind == Kind::Loop || kind == Kind::Undefined);
}

Value is_same(Call& call) {
  return Value(call[0].same_as(call[1]));
}

Value is_escaped(Call& call) {
  return Value(is_markup(call[0]));
}

Value is_in(Call& call) {
  return Value(contains(call.heap, call[0], call[1]));
}

template <Op kOp>
Value compares(Call& call) {
  return Value(compare(call.heap, kOp, call[0], call[1]));
}

// lower and upper: the methods of str on str(value).
Value case_test(Call& call, std::string_view method) {
  const Value text = call.heap.text(call.string(0));
  return call_builtin(call.in, *find_method(text, method), text, {});
}

Value is_lower_test(Call& call) {
  return case_test(call, "islower");
}

Value is_upper_test(Call& call) {
  return case_test(call, "isupper");
}

Value is_filter(Call& call) {
  hash_value(call[0]);
  return Value(call[0].is(Kind::Str) && find_filter(text_of(call[0]).view()) != nullptr);
}

Value is_test(Call& call) {
  hash_value(call[0]);
  return Value(call[0].is(Kind::Str) && find_test(text_of(call[0]).view()) != nullptr);
}

std::vector<Builtin> comparisons() {
  std::vector<Builtin> all;
  const auto add = [&](Run run, std::initializer_list<std::string_view> names) {
    for (std::string_view name : names) all.push_back({name, run, "_value _other"});
  };
  add(compares<Op::Equal>, {"==", "eq", "equalto"});
  add(compares<Op::NotEqual>, {"!=", "ne"});
  add(compares<Op::Greater>, {">", "gt", "greaterthan"});
  add(compares<Op::GreaterEqual>, {">=", "ge"});
  add(compares<Op::Less>, {"<", "lt", "lessthan"});
  add(compares<Op::LessEqual>, {"<=", "le"});
  return all;
}

}  // namespace

const Builtin* find_test(std::string_view name) {
  static const BuiltinTable kTests =
      make_table({comparisons(),
                  {
                      {"defined", is_defined, "_value"},
                      {"undefined", is_kind<Kind::Undefined>, "_value"},
                      {"none", is_kind<Kind::None>, "_value"},
                      {"boolean", is_kind<Kind::Bool>, "_value"},
                      {"integer", is_kind<Kind::Int>, "_value"},
                      {"float", is_kind<Kind::Float>, "_value"},
                      {"string", is_kind<Kind::Str>, "_value"},
                      {"mapping", is_kind<Kind::Dict>, "_value"},
                      {"true", is_bool<true>, "_value"},
                      {"false", is_bool<false>, "_value"},
                      {"number", is_number, "_value"},
                      {"even", is_even, "_value"},
                      {"odd", is_odd, "_value"},
                      {"divisibleby", is_divisible, "_value num"},
                      {"sequence", is_sequence, "_value"},
                      {"iterable", is_iterable_test, "_value"},
                      {"callable", is_callable, "_value"},
                      {"sameas", is_same, "_value other"},
                      {"escaped", is_escaped, "_value"},
                      {"in", is_in, "_value seq"},
                      {"lower", is_lower_test, "_value"},
                      {"upper", is_upper_test, "_value"},
                      {"filter", is_filter, "_value"},
                      {"test", is_test, "_value"},
                  }});
  const auto found = kTests.find(name);
  return found == kTests.end() ? nullptr : &found->second;
}

}  // namespace counterbeam::jinja
