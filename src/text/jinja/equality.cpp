// ==, hash() and dict lookup, as Python defines them: 1 == 1.0 == True, lists never equal tuples,
// dicts compare without order.
#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "text/jinja/value.h"

namespace counterbeam::jinja {
namespace {

bool equal_items(const std::vector<Value>& a, const std::vector<Value>& b, Budget* budget) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!equal(a[i], b[i], budget)) return false;
  return true;
}

bool equal_dicts(const DictObject& a, const DictObject& b, Budget* budget) {
  if (a.items.size() != b.items.size()) return false;
  for (const auto& [key, value] : a.items) {
    const Value* other = find(b, key);
    if (!other || !equal(value, *other, budget)) return false;
  }
  return true;
}

bool equal_numbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return a.integer() == b.integer();
  return a.real() == b.real();
}

bool equal_ranges(const RangeObject& a, const RangeObject& b) {
  if (a.size() != b.size()) return false;
  if (a.size() == 0) return true;
  return a.start == b.start && (a.size() == 1 || a.step == b.step);
}

// Views of keys and of items compare as sets, views of values by identity.
bool equal_views(const Value& left, const Value& right, Budget* budget) {
  const auto& a = left.as<ViewObject>();
  const auto& b = right.as<ViewObject>();
  if (a.part != b.part || a.part == ViewObject::Part::Values) return left.same_as(right);
  const auto& x = a.dict.as<DictObject>();
  const auto& y = b.dict.as<DictObject>();
  if (a.part == ViewObject::Part::Items) return equal_dicts(x, y, budget);
  if (x.items.size() != y.items.size()) return false;
  for (const auto& [key, value] : x.items)
    if (!find(y, key)) return false;
  return true;
}

}  // namespace

bool equal(const Value& a, const Value& b, Budget* budget) {
  if (budget) budget->step();
  if (a.is_number() && b.is_number()) return equal_numbers(a, b);
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::Missing:
    case Kind::None:
    case Kind::Undefined:
      return true;
    case Kind::Str:
      return text_of(a).bytes() == text_of(b).bytes();
    case Kind::List:
    case Kind::Tuple:
      return a.object() == b.object() || equal_items(items_of(a), items_of(b), budget);
    case Kind::Dict:
      return a.object() == b.object() ||
             equal_dicts(a.as<DictObject>(), b.as<DictObject>(), budget);
    case Kind::Range:
      return equal_ranges(a.as<RangeObject>(), b.as<RangeObject>());
    case Kind::View:
      return equal_views(a, b, budget);
    default:
      return a.object() == b.object();
  }
}

std::size_t hash_value(const Value& value) {
  switch (value.kind()) {
    case Kind::Bool:
    case Kind::Int:
      return std::hash<std::int64_t>{}(value.integer());
    case Kind::Float: {
      const double real = value.real();
      if (std::trunc(real) == real && std::fabs(real) < 9e18)
        return std::hash<std::int64_t>{}(static_cast<std::int64_t>(real));
      return std::hash<double>{}(real);
    }
    case Kind::Str:
      return std::hash<std::string_view>{}(text_of(value).view());
    case Kind::Tuple: {
      std::size_t hash = 7;
      for (const Value& item : items_of(value)) hash = hash * 1000003 + hash_value(item);
      return hash;
    }
    case Kind::List:
    case Kind::Dict:
    case Kind::Slice:
      throw Fault(fmt::format("unhashable type: '{}'", type_name(value)));
    case Kind::View:
      if (value.as<ViewObject>().part != ViewObject::Part::Values)
        throw Fault(fmt::format("unhashable type: '{}'", type_name(value)));
      [[fallthrough]];
    default:
      return value.is(Kind::Undefined) || value.is(Kind::None)
                 ? static_cast<std::size_t>(value.kind())
                 : std::hash<const void*>{}(value.object());
  }
}

const Value* find(const DictObject& dict, const Value& key) {
  if (dict.index.empty()) {
    for (const auto& [name, value] : dict.items)
      if (equal(name, key, nullptr)) return &value;
    return nullptr;
  }
  const auto [from, to] = dict.index.equal_range(hash_value(key));
  for (auto at = from; at != to; ++at)
    if (equal(dict.items[at->second].first, key, nullptr)) return &dict.items[at->second].second;
  return nullptr;
}

const Value* find(const DictObject& dict, std::string_view key) {
  const auto matches = [&](const Value& name) {
    return name.is(Kind::Str) && text_of(name).view() == key;
  };
  if (dict.index.empty()) {
    for (const auto& [name, value] : dict.items)
      if (matches(name)) return &value;
    return nullptr;
  }
  const auto [from, to] = dict.index.equal_range(std::hash<std::string_view>{}(key));
  for (auto at = from; at != to; ++at)
    if (matches(dict.items[at->second].first)) return &dict.items[at->second].second;
  return nullptr;
}

}  // namespace counterbeam::jinja
