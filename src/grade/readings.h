// The possible readings of an answer with commas.
#pragma once

#include <optional>
#include <string>

#include "grade/tree.h"

namespace counterbeam::grade {

// In order of likelihood.
struct Readings {
  std::optional<Tree> usual;          // 1,234 is one number
  std::optional<Tree> as_list;        // 1,234 is two numbers
  std::optional<Tree> decimal_comma;  // 1,5 is one and a half
};

Readings read(const std::string& text);

bool is_list(const std::optional<Tree>& tree);

}  // namespace counterbeam::grade
