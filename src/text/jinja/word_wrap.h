// Wraps text to lines of at most `width` characters like Python's textwrap, for the wordwrap
// filter.
#pragma once

#include <cstdint>
#include <vector>

#include "text/jinja/text.h"

namespace counterbeam::jinja {

struct WrapStyle {
  std::int64_t width = 79;
  bool break_long_words = true;
  bool break_on_hyphens = true;
};

// REQUIRES: text without line breaks, width > 0
std::vector<Text> wrap(const Text& text, const WrapStyle& style);

}  // namespace counterbeam::jinja
