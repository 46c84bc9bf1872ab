// The `attribute` argument of map, sort, groupby and similar filters: "address.city", 0, or for
// sort a list "age,name".
#pragma once

#include <string_view>
#include <vector>

#include "text/jinja/builtin.h"
#include "text/jinja/interpreter.h"

namespace counterbeam::jinja {

class AttributePath {
 public:
  // If `attribute` is Missing or None, the path selects the item itself.
  AttributePath(const Heap& heap, const Value& attribute);

  // `fallback`, unless Missing, replaces any undefined value along the path.
  Value operator()(Interpreter& in, Value item, const Value& fallback = {}) const;

 private:
  std::vector<Value> parts_;
};

// The sort keys: one path, or several separated by commas.
std::vector<AttributePath> attribute_paths(const Heap& heap, const Value& attribute);
// Lower-cases a string unless `case_sensitive`.
Value ignore_case(const Heap& heap, Value value, bool case_sensitive);

}  // namespace counterbeam::jinja
