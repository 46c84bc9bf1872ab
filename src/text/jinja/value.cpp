#include "text/jinja/value.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

namespace counterbeam::jinja {
namespace {

constexpr std::size_t kIndexFrom = 12;  // dicts with fewer keys are searched linearly

std::uint32_t depth_of(std::span<const Value> items) {
  std::uint32_t depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return depth + 1;
}

}  // namespace

bool Value::same_as(const Value& other) const {
  if (kind_ != other.kind_) return false;
  switch (kind_) {
    case Kind::Missing:
    case Kind::None:
      return true;
    case Kind::Bool:
      return data_.boolean == other.data_.boolean;
    case Kind::Int:
      return data_.integer == other.data_.integer;
    case Kind::Float:
      return data_.real == other.data_.real;
    case Kind::Str:
      // Equal strings count as identical, since CPython interns many of them.
      return data_.object == other.data_.object || text_of(*this).bytes() == text_of(other).bytes();
    default:
      return data_.object == other.data_.object;
  }
}

std::int64_t RangeObject::size() const {
  if (step > 0) return start < stop ? (stop - start - 1) / step + 1 : 0;
  return start > stop ? (start - stop - 1) / -step + 1 : 0;
}

void Heap::admit(Object& object, std::size_t bytes, std::uint32_t depth) const {
  object.depth = depth;
  if (!budget_) return;
  if (depth > static_cast<std::uint32_t>(budget_->limits().value_depth))
    throw Fault(fmt::format("a value nests deeper than {} levels", budget_->limits().value_depth));
  budget_->take(bytes);
  object.charged += bytes;
  object.budget = budget_;
}

Value Heap::text(Text text, bool markup) const {
  auto object = std::make_unique<StrObject>();
  if (budget_) {
    budget_->check_text(text.size());
    budget_->scan(text.size());
  }
  object->text = std::move(text);
  object->markup = markup;
  admit(*object, sizeof(StrObject) + object->text.size() + 4 * object->text.flips().size(), 0);
  return Value(Kind::Str, object.release());
}

Value Heap::sequence(Kind kind, std::vector<Value> items) const {
  auto object = std::make_unique<ListObject>();
  object->items = std::move(items);
  if (budget_) budget_->step(1 + object->items.size() / 8);
  admit(*object, sizeof(ListObject) + object->items.size() * sizeof(Value),
        depth_of(object->items));
  return Value(kind, object.release());
}

Value Heap::list(std::vector<Value> items) const {
  return sequence(Kind::List, std::move(items));
}

Value Heap::tuple(std::vector<Value> items) const {
  return sequence(Kind::Tuple, std::move(items));
}

Value Heap::dict() const {
  auto object = std::make_unique<DictObject>();
  admit(*object, sizeof(DictObject), 1);
  return Value(Kind::Dict, object.release());
}

void Heap::put(DictObject& dict, Value key, Value value) const {
  if (budget_) budget_->step();
  const std::size_t hash = hash_value(key);
  if (const Value* old = find(dict, key)) {
    *const_cast<Value*>(old) = std::move(value);
    return;
  }
  if (dict.items.size() >= kIndexFrom) {
    if (dict.index.empty())
      for (std::size_t i = 0; i < dict.items.size(); ++i)
        dict.index.emplace(hash_value(dict.items[i].first), i);
    dict.index.emplace(hash, dict.items.size());
  }
  dict.items.emplace_back(std::move(key), std::move(value));
}

void Heap::settle(DictObject& dict) const {
  std::uint32_t depth = 0;
  for (const auto& [key, value] : dict.items) depth = std::max({depth, key.depth(), value.depth()});
  admit(dict, dict.items.size() * 3 * sizeof(Value), depth + 1);
}

Value Heap::range(std::int64_t start, std::int64_t stop, std::int64_t step) const {
  auto object = std::make_unique<RangeObject>();
  object->start = start;
  object->stop = stop;
  object->step = step;
  admit(*object, sizeof(RangeObject), 0);
  return Value(Kind::Range, object.release());
}

Value Heap::iterator(std::function<std::vector<Value>()> make, std::uint32_t depth,
                     const char* type_name) const {
  auto object = std::make_unique<IteratorObject>();
  object->make = std::move(make);
  object->type_name = type_name;
  admit(*object, sizeof(IteratorObject) + 64, depth + 1);
  return Value(Kind::Iterator, object.release());
}

Value Heap::view(ViewObject::Part part, Value dict) const {
  auto object = std::make_unique<ViewObject>();
  object->part = part;
  const std::uint32_t depth = dict.depth() + 1;
  object->dict = std::move(dict);
  admit(*object, sizeof(ViewObject), depth);
  return Value(Kind::View, object.release());
}

Value Heap::undefined_hint(std::string hint) const {
  auto object = std::make_unique<UndefinedObject>();
  object->hint = std::move(hint);
  admit(*object, sizeof(UndefinedObject) + object->hint.size(), 0);
  return Value(Kind::Undefined, object.release());
}

Value Heap::undefined_name(std::string_view name) const {
  return undefined_hint(fmt::format("'{}' is undefined", name));
}

Value Heap::undefined_item(const Value& owner, Value name) const {
  auto object = std::make_unique<UndefinedObject>();
  object->owner_type = type_name(owner);
  const std::uint32_t depth = name.depth() + 1;
  object->name = std::move(name);
  admit(*object, sizeof(UndefinedObject), depth);
  return Value(Kind::Undefined, object.release());
}

Value Heap::slice(Value start, Value stop, Value step) const {
  auto object = std::make_unique<SliceObject>();
  const std::uint32_t depth = std::max({start.depth(), stop.depth(), step.depth()}) + 1;
  object->start = std::move(start);
  object->stop = std::move(stop);
  object->step = std::move(step);
  admit(*object, sizeof(SliceObject), depth);
  return Value(Kind::Slice, object.release());
}

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::Missing:
    case Kind::None:
      return "NoneType";
    case Kind::Bool:
      return "bool";
    case Kind::Int:
      return "int";
    case Kind::Float:
      return "float";
    case Kind::Undefined:
      return "Undefined";
    case Kind::Str:
      return is_markup(value) ? "Markup" : "str";
    case Kind::List:
      return "list";
    case Kind::Tuple:
      return "tuple";
    case Kind::Dict:
      return "dict";
    case Kind::Range:
      return "range";
    case Kind::Iterator:
      return value.as<IteratorObject>().type_name;
    case Kind::View: {
      constexpr std::string_view kNames[] = {"dict_keys", "dict_values", "dict_items"};
      return kNames[static_cast<int>(value.as<ViewObject>().part)];
    }
    case Kind::Namespace:
      return "Namespace";
    case Kind::Macro:
      return "Macro";
    case Kind::Function:
      return "function";
    case Kind::Loop:
      return "LoopContext";
    case Kind::Cycler:
      return "Cycler";
    case Kind::Joiner:
      return "Joiner";
    case Kind::Slice:
      return "slice";
  }
  return "object";
}

std::string undefined_message(const UndefinedObject& undefined) {
  if (!undefined.hint.empty()) return undefined.hint;
  if (undefined.name.is(Kind::Str))
    return fmt::format("'{}' has no attribute '{}'", undefined.owner_type,
                       text_of(undefined.name).view());
  if (undefined.name.is(Kind::Int))
    return fmt::format("{} has no element {}", undefined.owner_type, undefined.name.integer());
  return fmt::format("{} has no such element", undefined.owner_type);
}

}  // namespace counterbeam::jinja
