// Names of modules as the rules of quantised checkpoints give them: exact, or a regular expression
// that must match from the start of the name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/regex.h"

namespace counterbeam {

class NamePattern {
 public:
  static NamePattern exact(std::string_view name) { return NamePattern(name, false); }
  // Throws RegexProblem.
  static NamePattern regex(std::string_view pattern) { return NamePattern(pattern, true); }

  bool matches(const std::string& module) const;

 private:
  NamePattern(std::string_view text, bool is_regex)
      : text_(text), regex_(is_regex ? std::optional<Regex>(Regex(text)) : std::nullopt) {}

  std::string text_;
  std::optional<Regex> regex_;  // none: an exact name
};

}  // namespace counterbeam
