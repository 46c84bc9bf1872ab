// Reads the fields of a JSON request by name and type. An absent or null field has no value; a
// field of the wrong type or out of range is an ApiError 400 that names it. Fields that nobody asks
// for are ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/json.h"

namespace counterbeam::serve {

class Fields {
 public:
  // REQUIRES that the object outlives this. `path` ("search.") stands before names in errors.
  explicit Fields(const Json& object, std::string path = "");

  const Json* find(std::string_view name) const;  // null: absent or null
  bool has(std::string_view name) const { return find(name) != nullptr; }

  std::optional<std::int64_t> whole(std::string_view name, std::int64_t least,
                                    std::int64_t most) const;
  std::optional<double> number(std::string_view name, double least, double most) const;
  std::optional<bool> flag(std::string_view name) const;
  std::optional<std::string> text(std::string_view name) const;  // valid UTF-8
  // A string, or an array of at most `most` strings.
  std::vector<std::string> texts(std::string_view name, std::size_t most) const;
  std::optional<Fields> object(std::string_view name) const;

  std::string full(std::string_view name) const { return path_ + std::string(name); }

 private:
  const Json* object_;
  std::string path_;
};

// The body as a JSON object. ApiError 400 for anything else.
Json parse_body(std::string_view body);

// A value as it is shown in errors: short, on one line.
std::string shown_value(const Json& value);

// Token ids below `vocabulary`; `name` is the field of the array in errors.
std::vector<TokenId> token_ids(const Json& array, const std::string& name, int vocabulary);

}  // namespace counterbeam::serve
