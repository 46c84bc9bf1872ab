#include "base/json_fields.h"

#include <cmath>

#include "base/error.h"
#include "base/quote.h"

namespace counterbeam {

std::string shown(const Json& value) {
  if (value.is_object()) return "{...}";
  if (value.is_array()) return "[...]";
  return printable(to_line(value));
}

JsonFields::JsonFields(const Json& object, std::string file, std::string path)
    : object_(&object), file_(std::move(file)), path_(std::move(path)) {
  CB_CHECK(object.is_object());
}

const Json* JsonFields::find(std::string_view key) const {
  const auto found = object_->find(key);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

void JsonFields::wrong(std::string_view key, std::string_view problem) const {
  const Json* value = find(key);
  bad_input("{}: {}{} {} {}", file_, path_, key, value ? shown(*value) : "null", problem);
}

void JsonFields::missing(std::string_view key, std::string_view what) const {
  bad_input("{}: {}{} is missing; {}", file_, path_, key, what);
}

std::optional<std::int64_t> JsonFields::integer(std::string_view key, std::int64_t low,
                                                std::int64_t high) const {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  const bool fits =
      value->is_number_integer() &&
      !(value->is_number_unsigned() && value->get<std::uint64_t>() > std::uint64_t{1} << 62);
  const std::int64_t number = fits ? value->get<std::int64_t>() : 0;
  if (!fits || number < low || number > high)
    wrong(key, fmt::format("is not a whole number from {} to {}", low, high));
  return number;
}

std::optional<double> JsonFields::number(std::string_view key, double low, double high) const {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : NAN;
  if (!(number > low && number <= high))
    wrong(key, fmt::format("is not a number above {} and at most {}", low, high));
  return number;
}

std::optional<bool> JsonFields::boolean(std::string_view key) const {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  if (!value->is_boolean()) wrong(key, "is not true or false");
  return value->get<bool>();
}

std::optional<std::string> JsonFields::string(std::string_view key) const {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  if (!value->is_string()) wrong(key, "is not a string");
  return value->get<std::string>();
}

std::optional<JsonFields> JsonFields::object(std::string_view key) const {
  const Json* value = find(key);
  if (!value) return std::nullopt;
  if (!value->is_object()) wrong(key, "is not an object");
  return JsonFields(*value, file_, fmt::format("{}{}.", path_, key));
}

const Json* JsonFields::array(std::string_view key) const {
  const Json* value = find(key);
  if (value && !value->is_array()) wrong(key, "is not an array");
  return value;
}

}  // namespace counterbeam
