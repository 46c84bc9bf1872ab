// Reads the metadata of a GGUF file by key and type, as JsonFields does for JSON. An absent key has
// no value; one of the wrong type or out of range throws an Error that names the file, the key, the
// value and what is allowed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tensor/gguf.h"

namespace counterbeam {

class GgufFields {
 public:
  // REQUIRES: the content outlives this
  GgufFields(const GgufContent& content, std::string file)
      : content_(&content), file_(std::move(file)) {}

  const GgufValue* find(std::string_view key) const { return content_->find(key); }
  bool has(std::string_view key) const { return find(key) != nullptr; }

  // An array counts as its elements' common value: files list a number for every layer.
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t low,
                                      std::int64_t high) const;
  // Greater than `low`, at most `high`, and finite.
  std::optional<double> number(std::string_view key, double low, double high) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string_view> string(std::string_view key) const;
  // Null if absent. `kind` is that of the elements.
  const GgufValue* array(std::string_view key, GgufKind kind) const;

  // Both throw an Error; wrong() says "FILE: KEY VALUE problem".
  [[noreturn]] void wrong(std::string_view key, std::string_view problem) const;
  [[noreturn]] void missing(std::string_view key, std::string_view what) const;

  const std::string& file() const { return file_; }

 private:
  const GgufContent* content_;
  std::string file_;
};

}  // namespace counterbeam
