#include "text/jinja/attribute_path.h"

#include <charconv>

#include "text/jinja/text_ops.h"

namespace counterbeam::jinja {
namespace {

Value path_part(const Heap& heap, const Text& part) {
  const std::string_view view = part.view();
  std::int64_t index = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), index);
  const bool number = error == std::errc() && end == view.data() + view.size() && view[0] != '-';
  return number ? Value(index) : heap.text(part);
}

}  // namespace

AttributePath::AttributePath(const Heap& heap, const Value& attribute) {
  if (attribute.missing() || attribute.is(Kind::None)) return;
  if (!attribute.is(Kind::Str)) {
    parts_.push_back(attribute);
    return;
  }
  const Text dot(".");
  for (const Text& part : split(text_of(attribute), &dot, -1, false))
    parts_.push_back(path_part(heap, part));
}

Value AttributePath::operator()(Interpreter& in, Value item, const Value& fallback) const {
  for (const Value& part : parts_) {
    item = in.subscript(item, part);
    if (!fallback.missing() && !fallback.is(Kind::None) && item.is(Kind::Undefined))
      item = fallback;
  }
  return item;
}

std::vector<AttributePath> attribute_paths(const Heap& heap, const Value& attribute) {
  std::vector<AttributePath> paths;
  if (!attribute.is(Kind::Str)) {
    paths.emplace_back(heap, attribute);
    return paths;
  }
  const Text comma(",");
  for (const Text& part : split(text_of(attribute), &comma, -1, false))
    paths.emplace_back(heap, heap.text(part));
  return paths;
}

Value ignore_case(const Heap& heap, Value value, bool case_sensitive) {
  if (case_sensitive || !value.is(Kind::Str)) return value;
  return heap.text(lower(text_of(value)));
}

}  // namespace counterbeam::jinja
