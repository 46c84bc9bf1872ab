#include "model/gguf_fields.h"

#include "base/error.h"
#include "base/quote.h"

namespace counterbeam {
namespace {

std::string shown(const GgufValue& value) {
  if (value.array) return fmt::format("({} of {})", value.type_name(), value.count);
  if (const auto text = value.string()) return in_quotes(*text);
  if (const auto flag = value.boolean()) return *flag ? "true" : "false";
  if (const auto whole = value.integer()) return std::to_string(*whole);
  return fmt::format("{}", value.number().value_or(0));
}

}  // namespace

void GgufFields::wrong(std::string_view key, std::string_view problem) const {
  const GgufValue* value = find(key);
  bad_input("{}: {} {} {}", file_, printable(key), value ? shown(*value) : "(absent)", problem);
}

void GgufFields::missing(std::string_view key, std::string_view what) const {
  bad_input("{}: {} is missing; {}", file_, printable(key), what);
}

std::optional<std::int64_t> GgufFields::integer(std::string_view key, std::int64_t low,
                                                std::int64_t high) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  const auto number = value->integer();
  if (!number || *number < low || *number > high)
    wrong(key, fmt::format("is not a whole number from {} to {}", low, high));
  for (std::uint64_t i = 1; i < value->count; ++i)
    if (value->integer(i) != number)
      wrong(key, "differs between layers, which is not supported for this architecture");
  return number;
}

std::optional<double> GgufFields::number(std::string_view key, double low, double high) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  const auto number = value->array ? std::nullopt : value->number();
  if (!number || !(*number > low && *number <= high))
    wrong(key, fmt::format("is not a number above {} and at most {}", low, high));
  return number;
}

std::optional<bool> GgufFields::boolean(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  const auto flag = value->array ? std::nullopt : value->boolean();
  if (!flag) wrong(key, "is not true or false");
  return flag;
}

std::optional<std::string_view> GgufFields::string(std::string_view key) const {
  const GgufValue* value = find(key);
  if (!value) return std::nullopt;
  const auto text = value->string();
  if (!text) wrong(key, "is not a string");
  return text;
}

const GgufValue* GgufFields::array(std::string_view key, GgufKind kind) const {
  const GgufValue* value = find(key);
  if (!value) return nullptr;
  GgufValue wanted;
  wanted.array = true;
  wanted.kind = kind;
  if (!value->array || value->kind != kind)
    wrong(key, fmt::format("is of type {}, not {}", value->type_name(), wanted.type_name()));
  return value;
}

}  // namespace counterbeam
