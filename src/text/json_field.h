// A value inside a JSON file together with its path, so that every error names the file, the field
// and the value: "tokenizer.json: decoder.type must be a string, found 3".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace counterbeam {

class JsonField {
 public:
  // REQUIRES: the file name and the value outlive the field
  JsonField(const Json& value, std::string_view file, std::string path)
      : value_(&value), file_(file), path_(std::move(path)) {}

  bool is_null() const { return value_->is_null(); }
  bool is_object() const { return value_->is_object(); }
  bool is_string() const { return value_->is_string(); }
  const std::string& path() const { return path_; }

  // Members of an object. A member that is null counts as absent.
  bool has(std::string_view key) const;
  JsonField at(std::string_view key) const;  // throws if absent
  std::vector<std::string> keys() const;

  std::vector<JsonField> elements() const;
  const std::string& string() const;
  bool boolean() const;
  std::uint64_t whole_number() const;

  std::string string_or(std::string_view key, std::string_view otherwise) const;
  bool boolean_or(std::string_view key, bool otherwise) const;

  // Throws an Error "FILE: PATH PROBLEM".
  [[noreturn]] void refuse(std::string_view problem) const;
  // The value as shown in messages.
  std::string shown() const;

 private:
  void expect(bool fits, std::string_view kind) const;

  const Json* value_;
  std::string_view file_;
  std::string path_;
};

}  // namespace counterbeam
