// The `attribute` argument of map, sort, groupby and their like: "address.city", 0, or for sort a
// list "age,name".
#pragma once

#include <string_view>
#include <vector>

#include "text/jinja/builtin.h"
#include "text/jinja/interpreter.h"

namespace counterbeam::jinja {

class AttributePath {
 public:
  // Missing or None: the item itself.
  AttributePath(const Heap& heap, const Value& attribute);

  // `fallback` (Missing: none) stands in for whatever is undefined on the way.
  Value operator()(Interpreter& in, Value item, const Value& fallback = {}) const;

 private:
  std::vector<Value> parts_;
};

// The keys a sort compares: one path, or several split at commas. Strings are lower-cased unless
// case matters.
std::vector<AttributePath> attribute_paths(const Heap& heap, const Value& attribute);
Value ignore_case(const Heap& heap, Value value, bool case_sensitive);

}  // namespace counterbeam::jinja
