// Filters on single values: defaults, numbers, attributes, JSON; and the table of all filters.
#include <fmt/format.h>

#include <cmath>

#include "text/jinja/builtin.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operations.h"

namespace counterbeam::jinja {
namespace {

constexpr double kIntLimit = 9.2e18;

Value default_filter(Call& call) {
  if (call[0].is(Kind::Undefined) || (call.flag(2) && !truth(call[0])))
    return call.has(1) ? call[1] : call.heap.text("");
  return call[0];
}

Value abs_filter(Call& call) {
  if (!call[0].is_number()) {
    if (call[0].is(Kind::Undefined)) throw Fault(undefined_message(call[0].as<UndefinedObject>()));
    call.fail(fmt::format("bad operand type for abs(): '{}'", type_name(call[0])));
  }
  if (call[0].is(Kind::Float)) return Value(std::fabs(call[0].real()));
  return call[0].integer() < 0 ? negate(call[0]) : Value(call[0].integer());
}

Value whole_part(const Call& call, double real, const Value& otherwise) {
  if (!std::isfinite(real)) return otherwise;
  if (!(std::fabs(real) < kIntLimit)) call.fail("an integer does not fit in 64 bits");
  return Value(static_cast<std::int64_t>(real));
}

Value int_filter(Call& call) {
  const Value otherwise = call.has(1) ? call[1] : Value(std::int64_t{0});
  if (call[0].is(Kind::Undefined)) throw Fault(undefined_message(call[0].as<UndefinedObject>()));
  if (call[0].is_integral()) return Value(call[0].integer());
  if (call[0].is(Kind::Float)) {
    if (std::isinf(call[0].real())) call.fail("cannot convert float infinity to integer");
    return whole_part(call, call[0].real(), otherwise);
  }
  if (!call[0].is(Kind::Str)) return otherwise;
  std::int64_t number = 0;
  double real = 0;
  if (parse_int(text_of(call[0]).view(), static_cast<int>(call.integer(2, 10)), number))
    return Value(number);
  if (parse_float(text_of(call[0]).view(), real)) return whole_part(call, real, otherwise);
  return otherwise;
}

Value float_filter(Call& call) {
  const Value otherwise = call.has(1) ? call[1] : Value(0.0);
  if (call[0].is(Kind::Undefined)) throw Fault(undefined_message(call[0].as<UndefinedObject>()));
  if (call[0].is_number()) return Value(call[0].real());
  double real = 0;
  if (call[0].is(Kind::Str) && parse_float(text_of(call[0]).view(), real)) return Value(real);
  return otherwise;
}

// As in Python, integers are rounded half to even.
std::int64_t round_integer(std::int64_t value, std::int64_t digits) {
  if (digits >= 0) return value;
  if (digits < -18) return 0;
  std::int64_t unit = 1;
  for (std::int64_t i = 0; i < -digits; ++i) unit *= 10;
  std::int64_t low = value % unit;
  if (low < 0) low += unit;
  const std::int64_t floor = value - low;
  const bool up = low * 2 > unit || (low * 2 == unit && (floor / unit) % 2 != 0);
  return up ? floor + unit : floor;
}

Value round_filter(Call& call) {
  const std::int64_t digits = call.integer(1, 0);
  std::string_view method = "common";
  if (call.has(2)) method = call.text(2).view();
  if (method != "common" && method != "ceil" && method != "floor")
    call.fail("method must be common, ceil or floor");
  if (call[0].is(Kind::Undefined)) throw Fault(undefined_message(call[0].as<UndefinedObject>()));
  if (!call[0].is_number())
    call.fail(fmt::format("type {} doesn't define __round__ method", type_name(call[0])));
  if (method == "common") {
    if (call[0].is_integral()) return Value(round_integer(call[0].integer(), digits));
    return Value(round_to(call[0].real(), digits));
  }
  const double unit = std::pow(10.0, static_cast<double>(digits));
  const double scaled = call[0].real() * unit;
  if (!std::isfinite(scaled)) call.fail("cannot convert float to integer");
  return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit);
}

Value attr_filter(Call& call) {
  Value value = call.in.own_attribute(call[0], call.text(1).view());
  if (!value.missing()) return value;
  return call.heap.undefined_item(call[0], call[1]);
}

Value tojson_filter(Call& call) {
  JsonStyle style;
  style.ascii = call.flag(1);
  if (call.has(2) && !call[2].is(Kind::None)) {
    style.indented = true;
    style.item_separator = Text(",");
    if (call[2].is(Kind::Str)) {
      style.indent = text_of(call[2]);
    } else {
      const std::int64_t width = std::max<std::int64_t>(call.integer(2), 0);
      call.budget.check_text(static_cast<std::size_t>(width));
      style.indent = Text(std::string(static_cast<std::size_t>(width), ' '));
    }
  }
  if (call.has(3) && !call[3].is(Kind::None)) {
    const Items both = items(call.heap, call[3]);
    if (both.size() != 2 || !both[0].is(Kind::Str) || !both[1].is(Kind::Str))
      call.fail("separators must be two strings");
    style.item_separator = text_of(both[0]);
    style.key_separator = text_of(both[1]);
  }
  style.sort_keys = call.flag(4);
  return call.heap.text(to_json(call.heap, call[0], style));
}

Value filesize_filter(Call& call) {
  double bytes = 0;
  if (call[0].is_number())
    bytes = call[0].real();
  else if (!call[0].is(Kind::Str) || !parse_float(text_of(call[0]).view(), bytes))
    call.fail("could not convert to a number");
  const bool binary = call.flag(1);
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return call.heap.text("1 Byte");
  if (!(std::fabs(bytes) < 1e300)) call.fail("the number is too large");
  if (bytes < base) return call.heap.text(fmt::format("{:.0f} Bytes", std::trunc(bytes)));
  constexpr std::string_view kPrefixes = "kMGTPEZY";
  double unit = base;
  for (std::size_t i = 0;; ++i) {
    unit *= base;
    if (bytes < unit || i + 1 == kPrefixes.size()) {
      const char prefix = i == 0 && binary ? 'K' : kPrefixes[i];
      return call.heap.text(
          fmt::format("{:.1f} {}{}", base * bytes / unit, prefix, binary ? "iB" : "B"));
    }
  }
}

}  // namespace

std::vector<Builtin> value_filters() {
  return {
      {"default", default_filter, "_value ?default_value ?boolean"},
      {"d", default_filter, "_value ?default_value ?boolean"},
      {"abs", abs_filter, "_x"},
      {"int", int_filter, "_value ?default ?base"},
      {"float", float_filter, "_value ?default"},
      {"round", round_filter, "_value ?precision ?method"},
      {"attr", attr_filter, "_obj name"},
      {"tojson", tojson_filter, "_x ?ensure_ascii ?indent ?separators ?sort_keys"},
      {"filesizeformat", filesize_filter, "_value ?binary"},
  };
}

const Builtin* find_filter(std::string_view name) {
  static const BuiltinTable kFilters = make_table(
      {text_filters(), markup_filters(), sequence_filters(), selection_filters(), value_filters()});
  const auto found = kFilters.find(name);
  return found == kFilters.end() ? nullptr : &found->second;
}

}  // namespace counterbeam::jinja
