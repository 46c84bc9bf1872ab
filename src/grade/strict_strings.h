// String functions shared by both normalisations of the strict verdict.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace counterbeam::grade {

inline void replace_all(std::string& s, std::string_view from, std::string_view to) {
  std::string out;
  std::size_t at = 0;
  for (std::size_t next; (next = s.find(from, at)) != std::string::npos; at = next + from.size()) {
    out.append(s, at, next - at);
    out += to;
  }
  out.append(s, at, std::string::npos);
  s = std::move(out);
}

inline std::vector<std::string> split(std::string_view s, std::string_view by) {
  std::vector<std::string> parts;
  for (std::size_t at = 0;;) {
    const std::size_t next = s.find(by, at);
    parts.emplace_back(s.substr(at, next == s.npos ? s.npos : next - at));
    if (next == s.npos) return parts;
    at = next + by.size();
  }
}

inline std::string stripped(std::string_view s) {
  const auto first = s.find_first_not_of(" \t\r\n\f\v");
  if (first == s.npos) return "";
  return std::string(s.substr(first, s.find_last_not_of(" \t\r\n\f\v") - first + 1));
}

// The content of "\text{...}" if that is the whole string, on one line.
inline std::optional<std::string> text_inside(std::string_view s) {
  if (!s.starts_with("\\text{") || !s.ends_with('}') || s.size() < 8) return std::nullopt;
  const std::string_view inside = s.substr(6, s.size() - 7);
  if (inside.find('\n') != inside.npos) return std::nullopt;
  return std::string(inside);
}

}  // namespace counterbeam::grade
