// Truth, length, iteration, membership and ordering.
#include "text/jinja/operations.h"

#include <fmt/format.h>

#include "text/jinja/chars.h"
#include "text/jinja/interpreter.h"

namespace counterbeam::jinja {
namespace {

[[noreturn]] void fail_undefined(const Value& value) {
  throw Fault(undefined_message(value.as<UndefinedObject>()));
}

Items characters(const Heap& heap, const Value& value) {
  const Text& text = text_of(value);
  std::vector<Value> made;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = decode(text.view(), at).size;
    made.push_back(heap.text(text.substr(at, at + size), is_markup(value)));
    at += size;
  }
  return Items(std::move(made));
}

Items keys_of(const Value& dict, bool values) {
  std::vector<Value> made;
  for (const auto& [key, value] : dict.as<DictObject>().items) made.push_back(values ? value : key);
  return Items(std::move(made));
}

Items view_items(const Heap& heap, const ViewObject& view) {
  if (view.part == ViewObject::Part::Items) return dict_items(heap, view.dict);
  return keys_of(view.dict, view.part == ViewObject::Part::Values);
}

bool holds(const Heap& heap, const Items& all, const Value& needle) {
  for (const Value& item : all)
    if (item.same_as(needle) || equal(item, needle, heap.budget())) return true;
  return false;
}

// Lexicographic order of lists and tuples.
bool less_items(const Heap& heap, const std::vector<Value>& a, const std::vector<Value>& b) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
    if (!equal(a[i], b[i], heap.budget())) return less(heap, a[i], b[i]);
  return a.size() < b.size();
}

}  // namespace

bool truth(const Value& value) {
  switch (value.kind()) {
    case Kind::Missing:
    case Kind::None:
    case Kind::Undefined:
      return false;
    case Kind::Bool:
    case Kind::Int:
      return value.integer() != 0;
    case Kind::Float:
      return value.real() != 0;
    default:
      return !has_length(value) || length(value) > 0;
  }
}

bool has_length(const Value& value) {
  switch (value.kind()) {
    case Kind::Undefined:
    case Kind::Str:
    case Kind::List:
    case Kind::Tuple:
    case Kind::Dict:
    case Kind::Range:
    case Kind::View:
      return true;
    default:
      return false;
  }
}

std::size_t length(const Value& value) {
  switch (value.kind()) {
    case Kind::Undefined:
      return 0;
    case Kind::Str:
      return count_points(text_of(value).view());
    case Kind::List:
    case Kind::Tuple:
      return items_of(value).size();
    case Kind::Dict:
      return value.as<DictObject>().items.size();
    case Kind::Range:
      return static_cast<std::size_t>(value.as<RangeObject>().size());
    case Kind::View:
      return value.as<ViewObject>().dict.as<DictObject>().items.size();
    default:
      throw Fault(fmt::format("object of type '{}' has no len()", type_name(value)));
  }
}

bool is_iterable(const Value& value) {
  return has_length(value) || value.is(Kind::Iterator) || value.is(Kind::Loop);
}

Items dict_items(const Heap& heap, const Value& dict) {
  std::vector<Value> made;
  for (const auto& [key, value] : dict.as<DictObject>().items)
    made.push_back(heap.tuple({key, value}));
  return Items(std::move(made));
}

Items items(const Heap& heap, const Value& value) {
  switch (value.kind()) {
    case Kind::Undefined:
      return Items();
    case Kind::Str:
      return characters(heap, value);
    case Kind::List:
    case Kind::Tuple:
      return Items(value, items_of(value));
    case Kind::Dict:
      return keys_of(value, false);
    case Kind::View:
      return view_items(heap, value.as<ViewObject>());
    case Kind::Range: {
      const auto& range = value.as<RangeObject>();
      std::vector<Value> made;
      for (std::int64_t i = 0; i < range.size(); ++i) made.emplace_back(range.at(i));
      return Items(std::move(made));
    }
    case Kind::Iterator: {
      auto& iterator = value.as<IteratorObject>();
      if (iterator.make) {
        const auto make = std::move(iterator.make);
        iterator.make = nullptr;
        iterator.items = make();
      }
      std::vector<Value> rest(iterator.items.begin() + static_cast<std::ptrdiff_t>(iterator.next),
                              iterator.items.end());
      iterator.items.clear();
      iterator.next = 0;
      return Items(std::move(rest));
    }
    default:
      throw Fault(fmt::format("'{}' object is not iterable", type_name(value)));
  }
}

bool contains(const Heap& heap, const Value& needle, const Value& haystack) {
  switch (haystack.kind()) {
    case Kind::Str:
      if (!needle.is(Kind::Str))
        throw Fault(fmt::format("'in <string>' requires string as left operand, not {}",
                                type_name(needle)));
      heap.budget()->scan(text_of(haystack).size());
      return text_of(haystack).view().find(text_of(needle).view()) != std::string_view::npos;
    case Kind::Dict:
      hash_value(needle);
      return find(haystack.as<DictObject>(), needle) != nullptr;
    case Kind::View:
      if (haystack.as<ViewObject>().part == ViewObject::Part::Keys)
        return contains(heap, needle, haystack.as<ViewObject>().dict);
      [[fallthrough]];
    default:
      if (!is_iterable(haystack))
        throw Fault(fmt::format("argument of type '{}' is not iterable", type_name(haystack)));
      return holds(heap, items(heap, haystack), needle);
  }
}

bool less(const Heap& heap, const Value& a, const Value& b) {
  heap.budget()->step();
  if (a.is(Kind::Undefined)) fail_undefined(a);
  if (b.is(Kind::Undefined)) fail_undefined(b);
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral()) return a.integer() < b.integer();
    return a.real() < b.real();
  }
  if (a.is(Kind::Str) && b.is(Kind::Str)) return text_of(a).bytes() < text_of(b).bytes();
  if (a.kind() == b.kind() && (a.is(Kind::List) || a.is(Kind::Tuple)))
    return less_items(heap, items_of(a), items_of(b));
  throw Fault(fmt::format("'<' not supported between instances of '{}' and '{}'", type_name(a),
                          type_name(b)));
}

bool compare(const Heap& heap, Op op, const Value& a, const Value& b) {
  switch (op) {
    case Op::Equal:
      return equal(a, b, heap.budget());
    case Op::NotEqual:
      return !equal(a, b, heap.budget());
    case Op::Less:
      return less(heap, a, b);
    case Op::Greater:
      return less(heap, b, a);
    // Not the negation of `b < a`: every comparison with NaN is false.
    case Op::LessEqual:
      return less(heap, a, b) || equal(a, b, heap.budget());
    case Op::GreaterEqual:
      return less(heap, b, a) || equal(a, b, heap.budget());
    case Op::In:
      return contains(heap, a, b);
    default:
      return !contains(heap, a, b);
  }
}

SliceBounds slice_bounds(const SliceObject& slice, std::int64_t size) {
  const auto number = [](const Value& value, std::int64_t otherwise) {
    if (value.is(Kind::None)) return otherwise;
    if (!value.is_integral())
      throw Fault("slice indices must be integers or None or have an __index__ method");
    return value.integer();
  };
  const std::int64_t step = number(slice.step, 1);
  if (step == 0) throw Fault("slice step cannot be zero");
  if (step == INT64_MIN) throw Fault("the slice step is too large");
  const std::int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
  const auto clamp = [&](std::int64_t at) {
    if (at < 0) at = at < -size ? low : at + size;
    return std::min(std::max(at, low), high);
  };
  const std::int64_t start =
      slice.start.is(Kind::None) ? (step < 0 ? high : low) : clamp(number(slice.start, 0));
  const std::int64_t stop =
      slice.stop.is(Kind::None) ? (step < 0 ? low : high) : clamp(number(slice.stop, 0));
  std::int64_t count = 0;
  if (step > 0 && start < stop) count = (stop - start - 1) / step + 1;
  if (step < 0 && start > stop) count = (start - stop - 1) / -step + 1;
  return {start, step, count};
}

}  // namespace counterbeam::jinja
