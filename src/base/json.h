// Parsing and printing of JSON. Json is used at the edges only: domain types read it and do not
// pass it on. Objects keep the order of their keys, which chat templates depend on.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace counterbeam {

using Json = nlohmann::ordered_json;

// Parses text. Error messages start with `name` (a file, "line 3 of standard input"). Rejects
// duplicate keys, nesting deeper than 256 levels and trailing text.
Json parse_json(std::string_view text, std::string_view name);

Json read_json_file(const std::filesystem::path& path);

// Replaces the file atomically by the value, indented. Bytes that are not UTF-8, such as those of a
// folder's name, become U+FFFD.
void write_json_file(const std::filesystem::path& path, const Json& value);

// What write_json_file() writes.
std::string to_text(const Json& value);

// The value on one line, in UTF-8; invalid bytes are replaced by U+FFFD.
std::string to_line(const Json& value);

}  // namespace counterbeam
