// Filters that split or reshape a sequence.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/attribute_path.h"
#include "text/jinja/builtin.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operations.h"
#include "text/jinja/text_ops.h"

namespace counterbeam::jinja {
namespace {

Value length_filter(Call& call) {
  return Value::count(length(call[0]));
}

Value list_filter(Call& call) {
  return call.heap.list(items(call.heap, call[0]).copy());
}

// Takes the first item; an iterator is advanced.
bool take_first(const Heap& heap, const Value& value, Value& first) {
  if (!value.is(Kind::Iterator)) {
    const Items all = items(heap, value);
    if (all.empty()) return false;
    first = all[0];
    return true;
  }
  auto& iterator = value.as<IteratorObject>();
  if (iterator.make) {
    const auto make = std::move(iterator.make);
    iterator.make = nullptr;
    iterator.items = make();
  }
  if (iterator.next >= iterator.items.size()) return false;
  first = iterator.items[iterator.next++];
  return true;
}

Value first_filter(Call& call) {
  Value first;
  if (take_first(call.heap, call[0], first)) return first;
  return call.heap.undefined_hint("No first item, sequence was empty.");
}

Value last_filter(Call& call) {
  if (call[0].is(Kind::Iterator) || call[0].is(Kind::Undefined))
    call.fail(fmt::format("'{}' object is not reversible", type_name(call[0])));
  const Items all = items(call.heap, call[0]);
  if (all.empty()) return call.heap.undefined_hint("No last item, sequence was empty.");
  return all[all.size() - 1];
}

Value random_filter(Call& call) {
  call.fail("a prompt must be the same every time it is rendered");
}

Value reverse_filter(Call& call) {
  if (call[0].is(Kind::Str)) {
    const Value none = Value::none();
    return item(call.heap, call[0], call.heap.slice(none, none, Value(std::int64_t{-1})));
  }
  std::vector<Value> all = items(call.heap, call[0]).copy();
  std::reverse(all.begin(), all.end());
  if (call[0].is(Kind::Iterator) || call[0].is(Kind::Undefined))
    return call.heap.list(std::move(all));
  return call.heap.iterator([all = std::move(all)] { return all; }, call[0].depth(),
                            "list_reverseiterator");
}

Value join_filter(Call& call) {
  const Text separator = call.has(1) ? call.string(1) : Text();
  const AttributePath path(call.heap, call[2]);
  Text out;
  bool first = true;
  for (const Value& item : items(call.heap, call[0])) {
    if (!first) out.append(separator);
    first = false;
    append_text(call.heap, out, path(call.in, item));
  }
  return call.heap.text(std::move(out));
}

Value sum_filter(Call& call) {
  const AttributePath path(call.heap, call[1]);
  Value total = call.has(2) ? call[2] : Value(std::int64_t{0});
  if (total.is(Kind::Str)) call.fail("can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : items(call.heap, call[0]))
    total = binary(call.heap, Op::Add, total, path(call.in, item));
  return total;
}

Value batch_filter(Call& call) {
  const std::int64_t size = call.integer(1);
  const Value fill = call.has(2) ? call[2] : Value::none();
  const Value source = call[0];
  return call.heap.iterator(
      [heap = &call.heap, source, size, fill] {
        std::vector<Value> batches, batch;
        for (const Value& item : items(*heap, source)) {
          if (static_cast<std::int64_t>(batch.size()) == size)
            batches.push_back(heap->list(std::exchange(batch, {})));
          batch.push_back(item);
        }
        if (!batch.empty()) {
          if (!fill.is(Kind::None) && size > static_cast<std::int64_t>(batch.size())) {
            heap->budget()->check_items(static_cast<std::size_t>(size));
            batch.resize(static_cast<std::size_t>(size), fill);
          }
          batches.push_back(heap->list(std::move(batch)));
        }
        return batches;
      },
      std::max(source.depth(), fill.depth()));
}

Value slice_filter(Call& call) {
  const std::int64_t slices = call.integer(1);
  const Value fill = call.has(2) ? call[2] : Value::none();
  const Value source = call[0];
  return call.heap.iterator(
      [heap = &call.heap, source, slices, fill] {
        const Items all = items(*heap, source);
        const auto size = static_cast<std::int64_t>(all.size());
        if (slices == 0) throw Fault("integer division or modulo by zero");
        std::vector<Value> made;
        if (slices < 0) return made;
        heap->budget()->check_items(static_cast<std::size_t>(slices));
        heap->budget()->step(static_cast<std::uint64_t>(slices));
        std::int64_t at = 0;
        for (std::int64_t i = 0; i < slices; ++i) {
          const bool extra = i < size % slices;
          const std::int64_t count = size / slices + (extra ? 1 : 0);
          std::vector<Value> part;
          for (std::int64_t k = 0; k < count; ++k)
            part.push_back(all[static_cast<std::size_t>(at++)]);
          if (!fill.is(Kind::None) && !extra) part.push_back(fill);
          made.push_back(heap->list(std::move(part)));
        }
        return made;
      },
      std::max(source.depth(), fill.depth()));
}

Value items_filter(Call& call) {
  if (call[0].is(Kind::Undefined))
    return call.heap.iterator([] { return std::vector<Value>(); }, 0);
  const Value source = call[0];
  return call.heap.iterator(
      [heap = &call.heap, source] {
        if (!source.is(Kind::Dict)) throw Fault("Can only get item pairs from a mapping.");
        return dict_items(*heap, source).copy();
      },
      source.depth() + 1);
}

Value unique_filter(Call& call) {
  const Value source = call[0];
  const bool case_sensitive = call.flag(1);
  const AttributePath path(call.heap, call[2]);
  return call.heap.iterator(
      [in = &call.in, source, case_sensitive, path] {
        const Heap& heap = in->heap();
        const Value seen = heap.dict();
        std::vector<Value> kept;
        for (const Value& item : items(heap, source)) {
          Value key = ignore_case(heap, path(*in, item), case_sensitive);
          const std::size_t before = seen.as<DictObject>().items.size();
          heap.put(seen.as<DictObject>(), std::move(key), Value(true));
          if (seen.as<DictObject>().items.size() > before) kept.push_back(item);
        }
        return kept;
      },
      source.depth() + 1);
}

}  // namespace

std::vector<Builtin> sequence_filters() {
  return {
      {"length", length_filter, "_value"},
      {"count", length_filter, "_value"},
      {"list", list_filter, "_value"},
      {"first", first_filter, "_seq"},
      {"last", last_filter, "_seq"},
      {"random", random_filter, "_seq"},
      {"reverse", reverse_filter, "_value"},
      {"join", join_filter, "_value ?d ?attribute"},
      {"sum", sum_filter, "_iterable ?attribute ?start"},
      {"batch", batch_filter, "_value linecount ?fill_with"},
      {"slice", slice_filter, "_value slices ?fill_with"},
      {"items", items_filter, "_value"},
      {"unique", unique_filter, "_value ?case_sensitive ?attribute"},
  };
}

}  // namespace counterbeam::jinja
