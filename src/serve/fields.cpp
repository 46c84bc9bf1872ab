#include "serve/fields.h"

#include <cmath>

#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "serve/api_error.h"

namespace counterbeam::serve {
namespace {

// Bounds what a body of a given size can take in memory once it is parsed.
constexpr std::size_t kMostValues = 600'000;

std::size_t count_separators(std::string_view body) {
  std::size_t count = 0;
  for (const char c : body) count += c == ',' || c == '[' || c == '{';
  return count;
}

}  // namespace

std::string shown_value(const Json& value) {
  return printable(to_line(value), 60);
}

Fields::Fields(const Json& object, std::string path) : object_(&object), path_(std::move(path)) {}

const Json* Fields::find(std::string_view name) const {
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::int64_t> Fields::whole(std::string_view name, std::int64_t least,
                                          std::int64_t most) const {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  const bool is_whole =
      value->is_number_integer() ||
      (value->is_number_float() && std::trunc(value->get<double>()) == value->get<double>());
  if (!is_whole)
    invalid(full(name), "{}: {} is not a whole number", full(name), shown_value(*value));
  // Compared as numbers of floating point first: the value may not fit into 64 bits.
  const double size = value->get<double>();
  const bool fits = value->is_number_unsigned()
                        ? value->get<std::uint64_t>() <= std::uint64_t{INT64_MAX}
                        : size >= -9.2e18 && size <= 9.2e18;
  const std::int64_t number = fits ? value->get<std::int64_t>() : 0;
  if (!fits || number < least || number > most)
    invalid(full(name), "{}: {} is out of range; allowed: {} to {}", full(name),
            shown_value(*value), least, most);
  return number;
}

std::optional<double> Fields::number(std::string_view name, double least, double most) const {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_number())
    invalid(full(name), "{}: {} is not a number", full(name), shown_value(*value));
  const double number = value->get<double>();
  if (!(number >= least && number <= most))
    invalid(full(name), "{}: {} is out of range; allowed: {} to {}", full(name),
            shown_value(*value), least, most);
  return number;
}

std::optional<bool> Fields::flag(std::string_view name) const {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_boolean())
    invalid(full(name), "{}: {} is neither true nor false", full(name), shown_value(*value));
  return value->get<bool>();
}

std::optional<std::string> Fields::text(std::string_view name) const {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_string())
    invalid(full(name), "{}: {} is not a string", full(name), shown_value(*value));
  return value->get<std::string>();
}

std::vector<std::string> Fields::texts(std::string_view name, std::size_t most) const {
  const Json* value = find(name);
  if (!value) return {};
  if (value->is_string()) return {value->get<std::string>()};
  if (!value->is_array())
    invalid(full(name), "{}: {} is neither a string nor an array of strings", full(name),
            shown_value(*value));
  if (value->size() > most)
    invalid(full(name), "{}: {} strings; at most {} are allowed", full(name), value->size(), most);
  std::vector<std::string> found;
  for (const Json& item : *value) {
    if (!item.is_string())
      invalid(full(name), "{}: {} in the array is not a string", full(name), shown_value(item));
    found.push_back(item.get<std::string>());
  }
  return found;
}

std::optional<Fields> Fields::object(std::string_view name) const {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_object())
    invalid(full(name), "{}: {} is not an object", full(name), shown_value(*value));
  return Fields(*value, full(name) + ".");
}

Json parse_body(std::string_view body) {
  if (body.empty()) invalid("", "the body is empty; send a JSON object");
  if (count_separators(body) > kMostValues)
    invalid("", "the body holds more than {} values; send fewer in a request", kMostValues);
  Json json;
  try {
    json = parse_json(body, "the body");
  } catch (const Error& error) {
    invalid("", "{}", error.what());
  }
  if (!json.is_object()) invalid("", "the body is {}; send a JSON object", shown_value(json));
  return json;
}

std::vector<TokenId> token_ids(const Json& array, const std::string& name, int vocabulary) {
  if (!array.is_array())
    invalid(name, "{}: {} is not an array of token ids", name, shown_value(array));
  std::vector<TokenId> ids;
  ids.reserve(array.size());
  for (const Json& id : array) {
    const bool known = id.is_number_integer() && id.get<double>() >= 0 &&
                       id.get<double>() < static_cast<double>(vocabulary);
    if (!known)
      invalid(name, "{}: {} is not a token id of this model; allowed: 0 to {}", name,
              shown_value(id), vocabulary - 1);
    ids.push_back(id.get<TokenId>());
  }
  return ids;
}

}  // namespace counterbeam::serve
