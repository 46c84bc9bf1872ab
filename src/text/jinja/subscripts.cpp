// obj[key] for strings, sequences, ranges and dicts.
#include <fmt/format.h>

#include "text/jinja/chars.h"
#include "text/jinja/operations.h"

namespace counterbeam::jinja {
namespace {

Value slice_text(const Heap& heap, const Value& value, const SliceObject& slice) {
  const Text& text = text_of(value);
  heap.budget()->scan(text.size());
  const bool plain = is_ascii(text.view());
  const auto size = static_cast<std::int64_t>(plain ? text.size() : count_points(text.view()));
  const SliceBounds bounds = slice_bounds(slice, size);
  if (bounds.count == 0) return heap.text(Text(), is_markup(value));
  if (bounds.step == 1) {
    const auto start = static_cast<std::size_t>(bounds.start);
    const auto end = static_cast<std::size_t>(bounds.start + bounds.count);
    const std::size_t from = plain ? start : offset_of(text.view(), start);
    const std::size_t to = plain ? end : from + offset_of(text.view().substr(from), end - start);
    return heap.text(text.substr(from, to), is_markup(value));
  }
  const std::vector<std::size_t> at = borders(text.view());
  Text out;
  for (std::int64_t i = 0; i < bounds.count; ++i) {
    const auto index = static_cast<std::size_t>(bounds.start + i * bounds.step);
    out.append(text, at[index], at[index + 1]);
  }
  return heap.text(std::move(out), is_markup(value));
}

Value slice_items(const Heap& heap, const Value& value, const SliceObject& slice) {
  const std::vector<Value>& all = items_of(value);
  const SliceBounds bounds = slice_bounds(slice, static_cast<std::int64_t>(all.size()));
  std::vector<Value> some;
  for (std::int64_t i = 0; i < bounds.count; ++i)
    some.push_back(all[static_cast<std::size_t>(bounds.start + i * bounds.step)]);
  return value.is(Kind::List) ? heap.list(std::move(some)) : heap.tuple(std::move(some));
}

Value slice_range(const Heap& heap, const RangeObject& range, const SliceObject& slice) {
  const SliceBounds bounds = slice_bounds(slice, range.size());
  const std::int64_t start = range.at(bounds.start);
  return heap.range(start, start + bounds.count * bounds.step * range.step,
                    bounds.step * range.step);
}

Value sliced(const Heap& heap, const Value& object, const SliceObject& slice) {
  switch (object.kind()) {
    case Kind::Str:
      return slice_text(heap, object, slice);
    case Kind::List:
    case Kind::Tuple:
      return slice_items(heap, object, slice);
    case Kind::Range:
      return slice_range(heap, object.as<RangeObject>(), slice);
    default:
      throw Fault(fmt::format("'{}' object is not subscriptable by a slice", type_name(object)));
  }
}

Value indexed(const Heap& heap, const Value& object, std::int64_t index) {
  const auto size = static_cast<std::int64_t>(length(object));
  if (index < 0) index += size;
  if (index < 0 || index >= size) return {};
  if (object.is(Kind::Range)) return Value(object.as<RangeObject>().at(index));
  if (!object.is(Kind::Str)) return items_of(object)[static_cast<std::size_t>(index)];
  const Text& text = text_of(object);
  const std::size_t from = offset_of(text.view(), static_cast<std::size_t>(index));
  return heap.text(text.substr(from, from + decode(text.view(), from).size), is_markup(object));
}

}  // namespace

Value item(const Heap& heap, const Value& object, const Value& key) {
  if (object.is(Kind::Undefined)) throw Fault(undefined_message(object.as<UndefinedObject>()));
  if (key.is(Kind::Slice)) return sliced(heap, object, key.as<SliceObject>());
  switch (object.kind()) {
    case Kind::Str:
    case Kind::List:
    case Kind::Tuple:
    case Kind::Range:
      return key.is_integral() ? indexed(heap, object, key.integer()) : Value();
    case Kind::Dict: {
      if (key.is(Kind::List) || key.is(Kind::Dict)) return {};
      const Value* found = find(object.as<DictObject>(), key);
      return found ? *found : Value();
    }
    default:
      return {};
  }
}

}  // namespace counterbeam::jinja
