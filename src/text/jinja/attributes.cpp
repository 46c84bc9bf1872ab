// obj.name and obj[key], as Jinja's ImmutableSandboxedEnvironment resolves them: the dot prefers an
// attribute to an item, brackets prefer an item to an attribute, and methods that would modify a
// list or dict do not exist.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/jinja/interpreter.h"
#include "text/jinja/operations.h"

namespace counterbeam::jinja {
namespace {

constexpr std::array<std::string_view, 5> kDictChanges = {"clear", "pop", "popitem", "setdefault",
                                                          "update"};
constexpr std::array<std::string_view, 8> kListChanges = {"append", "clear", "pop",    "reverse",
                                                          "insert", "sort",  "extend", "remove"};

template <std::size_t N>
bool listed(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool changes_in_place(const Value& object, std::string_view name) {
  return (object.is(Kind::Dict) && listed(kDictChanges, name)) ||
         (object.is(Kind::List) && listed(kListChanges, name));
}

std::int64_t loop_length(Interpreter& in, LoopObject& loop) {
  if (loop.known_length >= 0) return loop.known_length;
  if (!loop.filtered) {
    loop.known_length = static_cast<std::int64_t>(loop.rest.size());
    return loop.known_length;
  }
  std::vector<Value> passing;
  Value item;
  while (in.advance(loop, item)) passing.push_back(item);
  loop.known_length =
      static_cast<std::int64_t>(passing.size()) + loop.index0 + 1 + (loop.after.missing() ? 0 : 1);
  loop.rest = Items(std::move(passing));
  loop.at = 0;
  loop.filtered = false;
  return loop.known_length;
}

const Value& peek(Interpreter& in, LoopObject& loop) {
  Value item;
  if (loop.after.missing() && in.advance(loop, item)) loop.after = std::move(item);
  return loop.after;
}

Value loop_attribute(Interpreter& in, LoopObject& loop, std::string_view name) {
  if (name == "index") return Value(loop.index0 + 1);
  if (name == "index0") return Value(loop.index0);
  if (name == "first") return Value(loop.index0 == 0);
  if (name == "last") return Value(peek(in, loop).missing());
  if (name == "length") return Value(loop_length(in, loop));
  if (name == "revindex") return Value(loop_length(in, loop) - loop.index0);
  if (name == "revindex0") return Value(loop_length(in, loop) - loop.index0 - 1);
  if (name == "depth") return Value(std::int64_t{loop.depth0 + 1});
  if (name == "depth0") return Value(std::int64_t{loop.depth0});
  if (name == "previtem")
    return loop.index0 == 0 ? in.heap().undefined_hint("there is no previous item") : loop.before;
  if (name == "nextitem") {
    const Value& next = peek(in, loop);
    return next.missing() ? in.heap().undefined_hint("there is no next item") : next;
  }
  return {};
}

Value macro_attribute(const Heap& heap, const MacroObject& macro, std::string_view name) {
  if (name == "name") return heap.text(macro.def->name);
  if (name == "caller") return Value(macro.def->uses_caller);
  if (name == "catch_kwargs") return Value(macro.def->uses_kwargs);
  if (name == "catch_varargs") return Value(macro.def->uses_varargs);
  if (name != "arguments") return {};
  std::vector<Value> names;
  for (const std::string& param : macro.def->param_names) names.push_back(heap.text(param));
  return heap.tuple(std::move(names));
}

Value number_attribute(const Value& object, std::string_view name) {
  if (name == "real") return object.is(Kind::Bool) ? Value(object.integer()) : object;
  if (name == "imag") return object.is(Kind::Float) ? Value(0.0) : Value(std::int64_t{0});
  if (object.is(Kind::Float)) return {};
  if (name == "numerator") return Value(object.integer());
  if (name == "denominator") return Value(std::int64_t{1});
  return {};
}

// Attributes that are not methods.
Value data_attribute(Interpreter& in, const Value& object, std::string_view name) {
  switch (object.kind()) {
    case Kind::Namespace:
      for (const auto& [key, value] : object.as<NamespaceObject>().items)
        if (key.view() == name) return value;
      return {};
    case Kind::Loop:
      return loop_attribute(in, object.as<LoopObject>(), name);
    case Kind::Macro:
      return macro_attribute(in.heap(), object.as<MacroObject>(), name);
    case Kind::Bool:
    case Kind::Int:
    case Kind::Float:
      return number_attribute(object, name);
    case Kind::Cycler: {
      const auto& cycler = object.as<CyclerObject>();
      if (name == "current") return cycler.items[cycler.next];
      if (name == "pos") return Value::count(cycler.next);
      return {};
    }
    case Kind::Joiner:
      if (name == "sep") return object.as<JoinerObject>().separator;
      if (name == "used") return Value(object.as<JoinerObject>().used);
      return {};
    case Kind::Range: {
      const auto& range = object.as<RangeObject>();
      if (name == "start") return Value(range.start);
      if (name == "stop") return Value(range.stop);
      if (name == "step") return Value(range.step);
      return {};
    }
    case Kind::Tuple:
      if (!object.as<ListObject>().group) return {};
      if (name == "grouper") return items_of(object)[0];
      if (name == "list") return items_of(object)[1];
      return {};
    default:
      return {};
  }
}

}  // namespace

Value Interpreter::own_attribute(const Value& object, std::string_view name) {
  if (object.is(Kind::Undefined)) throw Fault(undefined_message(object.as<UndefinedObject>()));
  if (name.starts_with("_")) return {};
  if (changes_in_place(object, name))
    return heap_.undefined_hint(
        fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, type_name(object)));
  Value value = data_attribute(*this, object, name);
  if (!value.missing()) return value;
  const Builtin* method = find_method(object, name);
  if (!method) return {};
  auto bound = std::make_unique<FunctionObject>();
  heap_.admit(*bound, sizeof(FunctionObject), object.depth() + 1);
  bound->builtin = method;
  bound->self = object;
  return Value(Kind::Function, bound.release());
}

Value Interpreter::attribute(const Value& object, std::string_view name) {
  // The common case first: a key of a message that is not also a method of dict.
  if (object.is(Kind::Dict) && !find_method(object, name) && !changes_in_place(object, name)) {
    const Value* found = find(object.as<DictObject>(), name);
    return found ? *found : heap_.undefined_item(object, heap_.text(name));
  }
  Value value = own_attribute(object, name);
  if (!value.missing()) return value;
  if (object.is(Kind::Dict))
    if (const Value* found = find(object.as<DictObject>(), name)) return *found;
  return heap_.undefined_item(object, heap_.text(name));
}

Value Interpreter::subscript(const Value& object, const Value& key) {
  Value value = item(heap_, object, key);
  if (!value.missing()) return value;
  if (key.is(Kind::Str)) {
    value = own_attribute(object, text_of(key).view());
    if (!value.missing()) return value;
  }
  return heap_.undefined_item(object, key);
}

Value Interpreter::make_namespace(std::vector<std::pair<Text, Value>> items) {
  auto space = std::make_unique<NamespaceObject>();
  heap_.admit(*space, sizeof(NamespaceObject) + items.size() * 64, 1);
  space->items = std::move(items);
  Value value(Kind::Namespace, space.release());
  namespaces_.push_back(value);
  return value;
}

}  // namespace counterbeam::jinja
