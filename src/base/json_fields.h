// Reads the members of a JSON object by name and type. A member that is absent or null has no
// value; one of the wrong type or out of range is an Error that names file, key, value and what is
// allowed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace counterbeam {

class JsonFields {
 public:
  // REQUIRES an object that outlives this. `file` opens the messages; `path` ("text_config.")
  // stands before every key in them.
  JsonFields(const Json& object, std::string file, std::string path = "");

  bool has(std::string_view key) const { return find(key) != nullptr; }         // and is not null
  bool mentions(std::string_view key) const { return object_->contains(key); }  // even as null
  const Json* find(std::string_view key) const;  // null: absent or null

  std::optional<std::int64_t> integer(std::string_view key, std::int64_t low,
                                      std::int64_t high) const;
  // Above `low`, at most `high`, finite.
  std::optional<double> number(std::string_view key, double low, double high) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string> string(std::string_view key) const;
  std::optional<JsonFields> object(std::string_view key) const;
  const Json* array(std::string_view key) const;  // null: absent or null

  // Throws: "FILE: PATH.KEY VALUE problem".
  [[noreturn]] void wrong(std::string_view key, std::string_view problem) const;
  [[noreturn]] void missing(std::string_view key, std::string_view what) const;

  const std::string& file() const { return file_; }

 private:
  const Json* object_;
  std::string file_, path_;
};

// A value as it may stand in a message: short, on one line.
std::string shown(const Json& value);

}  // namespace counterbeam
