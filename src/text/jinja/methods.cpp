// Methods of lists, tuples, dicts, numbers, loops and cyclers, and the lookup of a method by type.
#include <fmt/format.h>

#include <cmath>

#include "text/jinja/builtin.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operations.h"

namespace counterbeam::jinja {
namespace {

Value dict_get(Call& call) {
  hash_value(call[0]);
  const Value* found = find(call.self.as<DictObject>(), call[0]);
  if (found) return *found;
  return call.has(1) ? call[1] : Value::none();
}

template <ViewObject::Part kPart>
Value dict_view(Call& call) {
  return call.heap.view(kPart, call.self);
}

Value copied(Call& call) {
  if (call.self.is(Kind::List)) return call.heap.list(items_of(call.self));
  const Value dict = call.heap.dict();
  for (const auto& [key, value] : call.self.as<DictObject>().items)
    call.heap.put(dict.as<DictObject>(), key, value);
  call.heap.settle(dict.as<DictObject>());
  return dict;
}

Value count_items(Call& call) {
  std::int64_t count = 0;
  for (const Value& item : items(call.heap, call.self))
    if (equal(item, call[0], &call.budget)) ++count;
  return Value(count);
}

Value index_items(Call& call) {
  const Items all = items(call.heap, call.self);
  const auto size = static_cast<std::int64_t>(all.size());
  const auto place = [&](std::size_t i, std::int64_t otherwise) {
    const std::int64_t at = call.integer(i, otherwise);
    return at < 0 ? std::max<std::int64_t>(at + size, 0) : std::min(at, size);
  };
  for (std::int64_t i = place(1, 0); i < place(2, size); ++i)
    if (equal(all[static_cast<std::size_t>(i)], call[0], &call.budget)) return Value(i);
  call.fail("the value is not in the list");
}

Value loop_cycle(Call& call) {
  if (call.rest.empty()) throw Fault("no items for cycling given");
  const auto at = static_cast<std::size_t>(call.self.as<LoopObject>().index0);
  return call.rest[at % call.rest.size()];
}

Value loop_changed(Call& call) {
  auto& loop = call.self.as<LoopObject>();
  Value now = call.heap.tuple(std::move(call.rest));
  if (!loop.last_changed.missing() && equal(loop.last_changed, now, &call.budget))
    return Value(false);
  loop.last_changed = std::move(now);
  return Value(true);
}

Value cycler_next(Call& call) {
  auto& cycler = call.self.as<CyclerObject>();
  const std::size_t at = cycler.next;
  cycler.next = (at + 1) % cycler.items.size();
  return cycler.items[at];
}

Value cycler_reset(Call& call) {
  call.self.as<CyclerObject>().next = 0;
  return Value::none();
}

Value float_is_integer(Call& call) {
  return Value(std::isfinite(call.self.real()) && std::trunc(call.self.real()) == call.self.real());
}

Value bit_length(Call& call) {
  const std::int64_t value = call.self.integer();
  std::uint64_t rest =
      value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  std::int64_t bits = 0;
  for (; rest; rest >>= 1) ++bits;
  return Value(bits);
}

Value conjugate(Call& call) {
  return call.self.is(Kind::Float) ? call.self : Value(call.self.integer());
}

Value dict_from_keys(Call& call) {
  const Value dict = call.heap.dict();
  for (const Value& key : items(call.heap, call[0]))
    call.heap.put(dict.as<DictObject>(), key, call.has(1) ? call[1] : Value::none());
  call.heap.settle(dict.as<DictObject>());
  return dict;
}

const Builtin* in_table(const BuiltinTable& table, std::string_view name) {
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

}  // namespace

const Builtin* find_method(const Value& self, std::string_view name) {
  using Part = ViewObject::Part;
  static const BuiltinTable kStr =
      make_table({str_methods(), str_class_methods(), str_format_methods()});
  static const BuiltinTable kDict = make_table({{
      {"get", dict_get, "_key ?_default"},
      {"keys", dict_view<Part::Keys>, ""},
      {"values", dict_view<Part::Values>, ""},
      {"items", dict_view<Part::Items>, ""},
      {"copy", copied, ""},
      {"fromkeys", dict_from_keys, "_iterable ?_value"},
  }});
  static const BuiltinTable kSequence = make_table({{
      {"count", count_items, "_value"},
      {"index", index_items, "_value ?_start ?_stop"},
  }});
  static const BuiltinTable kList = make_table({{{"copy", copied, ""}}});
  static const BuiltinTable kLoop =
      make_table({{{"cycle", loop_cycle, "*items"}, {"changed", loop_changed, "*values"}}});
  static const BuiltinTable kCycler =
      make_table({{{"next", cycler_next, ""}, {"reset", cycler_reset, ""}}});
  static const BuiltinTable kFloat =
      make_table({{{"is_integer", float_is_integer, ""}, {"conjugate", conjugate, ""}}});
  static const BuiltinTable kInt =
      make_table({{{"bit_length", bit_length, ""}, {"conjugate", conjugate, ""}}});
  static const BuiltinTable kDictType =
      make_table({{{"fromkeys", dict_from_keys, "_iterable ?_value"}}});
  switch (self.kind()) {
    case Kind::Str:
      return in_table(kStr, name);
    case Kind::Dict:
      return in_table(kDict, name);
    case Kind::List:
      if (const Builtin* method = in_table(kList, name)) return method;
      [[fallthrough]];
    case Kind::Tuple:
    case Kind::Range:
      return in_table(kSequence, name);
    case Kind::Loop:
      return in_table(kLoop, name);
    case Kind::Cycler:
      return in_table(kCycler, name);
    case Kind::Float:
      return in_table(kFloat, name);
    case Kind::Bool:
    case Kind::Int:
      return in_table(kInt, name);
    case Kind::Function:
      return self.as<FunctionObject>().builtin->name == "dict" ? in_table(kDictType, name)
                                                               : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace counterbeam::jinja
