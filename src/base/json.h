// The JSON edge: files and lines become Json here, and domain types read it; nothing further in
// passes Json around. Objects keep their order, as chat templates need.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace counterbeam {

using Json = nlohmann::ordered_json;

// Parses text; `name` (a file, "line 3 of standard input") opens the error message. Rejects
// duplicate keys, nesting deeper than 256 and anything after the value.
Json parse_json(std::string_view text, std::string_view name);

Json read_json_file(const std::filesystem::path& path);

// One line, UTF-8, invalid bytes replaced by U+FFFD.
std::string to_line(const Json& value);

}  // namespace counterbeam
