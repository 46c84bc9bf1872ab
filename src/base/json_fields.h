// Reads the members of a JSON object by name and type. An absent or null member has no value. A
// member of the wrong type or out of range throws an Error that names the file, the key, the value
// and what is allowed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace counterbeam {

class JsonFields {
 public:
  // REQUIRES: `object` is an object and outlives this. Messages start with `file`, and put `path`
  // ("text_config.") before every key.
  JsonFields(const Json& object, std::string file, std::string path = "");

  bool has(std::string_view key) const { return find(key) != nullptr; }  // present and not null
  bool mentions(std::string_view key) const { return object_->contains(key); }  // perhaps null
  const Json* find(std::string_view key) const;  // null: absent or null

  std::optional<std::int64_t> integer(std::string_view key, std::int64_t low,
                                      std::int64_t high) const;
  // Greater than `low`, at most `high`, and finite.
  std::optional<double> number(std::string_view key, double low, double high) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string> string(std::string_view key) const;
  std::optional<JsonFields> object(std::string_view key) const;
  const Json* array(std::string_view key) const;  // null: absent or null

  // Both throw an Error; wrong() says "FILE: PATH.KEY VALUE problem".
  [[noreturn]] void wrong(std::string_view key, std::string_view problem) const;
  [[noreturn]] void missing(std::string_view key, std::string_view what) const;

  const std::string& file() const { return file_; }

 private:
  const Json* object_;
  std::string file_, path_;
};

// The value as shown in messages: shortened, on one line.
std::string shown(const Json& value);

}  // namespace counterbeam
