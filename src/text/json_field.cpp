#include "text/json_field.h"

#include "base/error.h"
#include "base/quote.h"

namespace counterbeam {

void JsonField::refuse(std::string_view problem) const {
  bad_input("{}: {}{}{}", file_, path_, path_.empty() ? "" : " ", problem);
}

std::string JsonField::shown() const {
  return printable(to_line(*value_));
}

void JsonField::expect(bool fits, std::string_view kind) const {
  if (!fits) refuse(fmt::format("must be {}, found {}", kind, shown()));
}

bool JsonField::has(std::string_view key) const {
  expect(value_->is_object(), "an object");
  const auto found = value_->find(key);
  return found != value_->end() && !found->is_null();
}

JsonField JsonField::at(std::string_view key) const {
  if (!has(key))
    refuse(fmt::format("has no \"{}\"; the file is incomplete, download it again", key));
  return {*value_->find(key), file_,
          path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key)};
}

std::vector<std::string> JsonField::keys() const {
  expect(value_->is_object(), "an object");
  std::vector<std::string> names;
  for (const auto& [key, value] : value_->items()) names.push_back(key);
  return names;
}

std::vector<JsonField> JsonField::elements() const {
  expect(value_->is_array(), "an array");
  std::vector<JsonField> fields;
  for (std::size_t i = 0; i < value_->size(); ++i)
    fields.emplace_back((*value_)[i], file_, fmt::format("{}[{}]", path_, i));
  return fields;
}

const std::string& JsonField::string() const {
  expect(value_->is_string(), "a string");
  return value_->get_ref<const std::string&>();
}

bool JsonField::boolean() const {
  expect(value_->is_boolean(), "true or false");
  return value_->get<bool>();
}

std::uint64_t JsonField::whole_number() const {
  expect(value_->is_number_unsigned(), "a whole number from 0 up");
  return value_->get<std::uint64_t>();
}

std::string JsonField::string_or(std::string_view key, std::string_view otherwise) const {
  return has(key) ? at(key).string() : std::string(otherwise);
}

bool JsonField::boolean_or(std::string_view key, bool otherwise) const {
  return has(key) ? at(key).boolean() : otherwise;
}

}  // namespace counterbeam
