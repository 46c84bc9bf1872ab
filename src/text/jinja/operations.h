// Python's operations on values: truth, length, iteration, ordering, arithmetic, subscripts, str()
// and repr(). Each throws a Fault where Python raises an exception.
#pragma once

#include "text/jinja/ast.h"
#include "text/jinja/value.h"

namespace counterbeam::jinja {

bool truth(const Value& value);
// len(); throws a Fault if the value has none.
std::size_t length(const Value& value);
bool has_length(const Value& value);
bool is_iterable(const Value& value);
// iter(): the characters of a string, the keys of a dict. An iterator is consumed.
Items items(const Heap& heap, const Value& value);
// The (key, value) pairs of a dict.
Items dict_items(const Heap& heap, const Value& dict);

bool contains(const Heap& heap, const Value& needle, const Value& haystack);
bool less(const Heap& heap, const Value& a, const Value& b);  // a < b
bool compare(const Heap& heap, Op op, const Value& a, const Value& b);
Value binary(const Heap& heap, Op op, const Value& a, const Value& b);
Value negate(const Value& value);

// obj[key]; Missing where Python raises LookupError or TypeError.
Value item(const Heap& heap, const Value& object, const Value& key);
// The bounds of a slice over `size` items: start, stop, step and the number of items selected.
struct SliceBounds {
  std::int64_t start, step, count;
};
SliceBounds slice_bounds(const SliceObject& slice, std::int64_t size);

Text to_text(const Heap& heap, const Value& value);  // str()
// Appends str(value); a string is appended without a copy.
void append_text(const Heap& heap, Text& out, const Value& value);
Text repr(const Heap& heap, const Value& value);
std::string float_repr(double value);

// int(text, base) and float(text); false when Python raises ValueError.
bool parse_int(std::string_view text, int base, std::int64_t& value);
bool parse_float(std::string_view text, double& value);
// round(value, digits)
double round_to(double value, std::int64_t digits);

// HTML escaping, as in markupsafe.
Text escape_html(const Text& text);
// The text of a value to be joined with Markup: escaped unless it is Markup.
Text escaped(const Heap& heap, const Value& value);

// "..." % values
Text percent_format(const Heap& heap, const Value& format, const Value& values);
// format(value, spec)
Text format_value(const Heap& heap, const Value& value, const Text& spec);

struct JsonStyle {
  bool ascii = false;
  bool sort_keys = false;
  bool indented = false;
  Text indent;
  Text item_separator{", "}, key_separator{": "};
};
Text to_json(const Heap& heap, const Value& value, const JsonStyle& style);

}  // namespace counterbeam::jinja
