// "did you mean": the known name that a mistyped one is nearest to.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace counterbeam {

// The candidate with the fewest edits (one character inserted, removed or replaced, or two adjacent
// ones swapped; case and leading dashes are ignored). Empty if all need more edits than a third of
// the name's length, or more than one for short names. Ties go to the first candidate.
std::optional<std::string_view> closest(std::string_view name,
                                        std::span<const std::string_view> candidates);

// "; did you mean NAME?" to be appended to an error message, or empty.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace counterbeam
