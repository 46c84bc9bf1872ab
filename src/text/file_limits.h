// The largest files of a tokenizer and of chat templates that are read. A larger one is refused
// before it is read.
#pragma once

#include <cstdint>

#include "text/jinja/budget.h"

namespace counterbeam {

// The largest known tokenizer.json (262,144 tokens with their merges) has 35 MB.
inline constexpr std::uint64_t kMostTokenizerBytes = std::uint64_t{256} << 20;
inline constexpr std::uint64_t kMostTokenizerConfigBytes = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kMostTemplateBytes = jinja::Limits{}.template_bytes;

}  // namespace counterbeam
